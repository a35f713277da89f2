"""Policies used where the plan names none: a seeded walk, and a spread of rewards."""

import random
from collections.abc import Mapping, Sequence

from assay.core.scheduler import TaskStats


class Shuffled:
    """Walks through all tasks in a seeded order, then through all of them in another one."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self._order: tuple[int, int, list[int]] = (-1, -1, [])

    def at(self, size: int, n: int) -> int:
        """Return the index at position `n` of the walk."""
        lap, position = divmod(n, size)
        if self._order[:2] != (lap, size):
            order = list(range(size))
            random.Random(f"{self.seed}:{lap}").shuffle(order)
            self._order = (lap, size, order)
        return self._order[2][position]

    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        """Return a task played least often so far."""
        counts = {index: stats.groups for index, stats in seen.items()}
        fewest = min((counts.get(index, 0) for index in range(size)), default=0)
        return rng.choice([index for index in range(size) if counts.get(index, 0) == fewest])


def has_spread(rewards: Sequence[float]) -> bool:
    """Whether rewards differ; a group of equal ones teaches nothing."""
    return max(rewards) > min(rewards)
