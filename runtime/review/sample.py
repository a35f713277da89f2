"""Which episodes of a run are looked at by chance.

A stratum is one domain of the mix with one outcome. Inside a stratum every episode has a number of its own, drawn from
the seed and its place in the ledger; the smallest are the sample. So the choice is the same for everybody and at any
time, needs no list on disk, and grows with the run.
"""

import hashlib
import heapq
import sqlite3
from collections.abc import Mapping, Sequence

import msgspec

SIZE, FLOOR = 40, 3
TWICE = 0.2


class Stratum(msgspec.Struct, frozen=True, order=True):
    """Episodes of one entry with one outcome."""

    entry: str
    success: bool

    @property
    def name(self) -> str:
        """Such as `spell, success`."""
        return f"{self.entry}, {'success' if self.success else 'failure'}"


Population = Mapping[Stratum, Sequence[int]]


def read_population(ledger: sqlite3.Connection, entries: Sequence[str]) -> dict[Stratum, list[int]]:
    """Return the scored episodes of a run by stratum, in order."""
    found: dict[Stratum, list[int]] = {}
    for episode, entry, success in ledger.execute(
        "SELECT e.episode, g.entry, e.success FROM episode e JOIN grp g USING (grp) "
        "WHERE e.reward IS NOT NULL AND e.trajectory IS NOT NULL ORDER BY e.episode"
    ):
        if entry in entries:
            found.setdefault(Stratum(entry, bool(success)), []).append(episode)
    return found


def allot(population: Population, size: int, floor: int) -> dict[Stratum, int]:
    """Return how many episodes of each stratum are looked at: its part of `size`, and at least `floor`.

    Rare outcomes and small domains are seen too, for which the sample may become larger than `size`.
    """
    total = sum(map(len, population.values()))
    return {
        stratum: min(len(episodes), max(floor, round(size * len(episodes) / total)))
        for stratum, episodes in population.items()
    }


def choose(population: Population, size: int = SIZE, floor: int = FLOOR, seed: int = 0) -> list[int]:
    """Return the sample in the order in which it is looked at, which says nothing about what it holds."""
    chosen: list[int] = []
    for stratum, count in allot(population, size, floor).items():
        chosen += heapq.nsmallest(count, population[stratum], key=lambda episode: draw(seed, "sample", episode))
    return shuffled(chosen, seed)


def shuffled(episodes: Sequence[int], seed: int) -> list[int]:
    """Return episodes in an order of chance that is always the same."""
    return sorted(episodes, key=lambda episode: draw(seed, "order", episode))


def is_for_two(episode: int, seed: int, share: float) -> bool:
    """Whether an episode is one of the share that two reviewers look at."""
    return draw(seed, "two", episode) < share


def draw(seed: int, what: str, episode: int) -> float:
    """Return a number in [0, 1) that is drawn for an episode, independently for each `what`."""
    text = f"{seed}:{what}:{episode}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=6).digest()) / (1 << 48)
