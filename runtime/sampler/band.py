"""Tasks that are neither solved nor hopeless.

A task whose pass rate lies in [low, high] is picked again; with chance `explore`, and whenever the band is empty, a
task is drawn from all. No task is ever out of reach, so that a grader that was broken for a while starves nothing.
"""

import random
from collections.abc import Mapping

from assay.core.error import ConfigError
from assay.core.scheduler import TaskStats


class Band:
    """See the module.

    Args:
        low: Smallest pass rate of the band, in [0, 1].
        high: Largest, at least `low`.
        explore: Chance of a draw from all tasks, in (0, 1].

    Raises:
        ConfigError: the band is empty or nothing would be explored.
    """

    def __init__(self, low: float = 0.2, high: float = 0.8, explore: float = 0.1) -> None:
        if not 0.0 <= low <= high <= 1.0:
            raise ConfigError("a band must have 0 <= low <= high <= 1", got=f"[{low}, {high}]")
        if not 0.0 < explore <= 1.0:
            raise ConfigError("a band must explore with a chance in (0, 1]", got=explore)
        self.low = low
        self.high = high
        self.explore = explore

    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        """See `assay.core.scheduler.Sampler`."""
        if rng.random() >= self.explore:
            inside = [task.index for task in seen.values() if self.low <= task.pass_rate <= self.high]
            if inside:
                return rng.choice(inside)
        return rng.randrange(size)
