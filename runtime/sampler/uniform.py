"""Every task with equal chance, with replacement."""

import random
from collections.abc import Mapping

from assay.core.scheduler import TaskStats


class Uniform:
    """See the module."""

    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        """See `assay.core.scheduler.Sampler`."""
        return rng.randrange(size)
