"""Thompson sampling of learnability r (1 - r), over a few candidates, with a floor.

Source: sampling for learnability, arXiv:2502.12272; drawing r from a Beta distribution instead of playing every task
first is ours.
"""

import random
from collections.abc import Mapping

from assay.core.error import ConfigError
from assay.core.scheduler import TaskStats

# Groups that a task is worth of evidence at most, so that what was learned long ago is forgotten.
MAX_GROUPS = 4
GROUP_SIZE = 8


class Frontier:
    """See the module.

    Args:
        candidates: Tasks to choose between at each pick, at least 1.
        floor: Chance that any task is drawn, in (0, 1].

    Raises:
        ConfigError: a value outside its range.
    """

    def __init__(self, candidates: int = 16, floor: float = 0.1) -> None:
        if candidates < 1 or not 0.0 < floor <= 1.0:
            raise ConfigError(
                "frontier must have candidates of at least 1 and a floor in (0, 1]", got=f"{candidates}, {floor}"
            )
        self.candidates = candidates
        self.floor = floor

    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        """Return the candidate whose drawn pass rate is nearest to one half."""
        if rng.random() < self.floor:
            return rng.randrange(size)
        tasks = [rng.randrange(size) for _ in range(self.candidates)]
        return max(tasks, key=lambda index: _learnability(seen.get(index), rng))


def _learnability(stats: TaskStats | None, rng: random.Random) -> float:
    played = 0 if stats is None else GROUP_SIZE * min(stats.groups, MAX_GROUPS)
    passed = 0.0 if stats is None else played * stats.pass_rate
    rate = rng.betavariate(1.0 + passed, 1.0 + played - passed)
    return rate * (1.0 - rate)
