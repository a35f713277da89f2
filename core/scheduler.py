"""Schedulers and samplers: pure policies inside the coordinator.

They see plain values, return plain values, read no clock and do no input or output; an exception in one ends the run
naming its distribution. The simulator runs the same objects.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec


class Waiting(msgspec.Struct, frozen=True):
    """One item in a queue.

    Attributes:
        item: Number of the episode.
        domain: Name of the mix entry.
        tier: Cost tier of its verification.
        since_s: When it entered the queue.
        cost_s: Expected seconds of work.
        needs: Capacity it takes, by resource.
    """

    item: int
    domain: str
    tier: str
    since_s: float
    cost_s: float
    needs: Mapping[str, float] = {}


class Slot(msgspec.Struct, frozen=True):
    """Free capacity of one worker, by resource."""

    worker: str
    free: Mapping[str, float]


class Assignment(msgspec.Struct, frozen=True):
    """One item given to one worker."""

    item: int
    worker: str


class View(msgspec.Struct, frozen=True):
    """What a scheduler may know of one queue.

    Attributes:
        queue: `rollout` or `verify`.
        waiting: In order of entry.
        running: Number of running items per domain.
        share: Target share per domain, summing to 1.
        done: Finished work per domain in the unit of `balance`.
        mean: Expected work of one item per domain, in the same unit; for a scheduler that sees every domain.
        cost_s: Expected seconds of one item per domain in this queue; for the same.
    """

    queue: str
    waiting: Sequence[Waiting]
    running: Mapping[str, int]
    share: Mapping[str, float]
    done: Mapping[str, float]
    mean: Mapping[str, float] = {}
    cost_s: Mapping[str, float] = {}


class Scheduler(Protocol):
    """Decides which waiting item goes to which free slot.

    It is shown the head of the queue; one with the attribute `should_see_every_domain = True` the head of every
    domain's part of it, at the price of a look at the whole queue.
    """

    def pick(self, view: View, capacity: Sequence[Slot], now_s: float) -> list[Assignment]:
        """Return assignments; none may exceed its slot's capacity or name an item twice."""
        ...


class TaskStats(msgspec.Struct, frozen=True):
    """What is known of one task: groups played and the pass rate over them."""

    index: int
    groups: int
    pass_rate: float


class Sampler(Protocol):
    """Picks tasks inside one domain."""

    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        """Return the index of the next task to play, in [0, size)."""
        ...
