"""The contract of a sampler: which task of a domain is played next, and that none is out of reach.

Frequencies are counted over many draws with fixed seeds. What is claimed of learning is claimed of one simulated
learner.
"""

import math
import random
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from assay.core.leaf import Factory
from assay.core.registry import installed
from assay.core.scheduler import Sampler, TaskStats
from assay.runtime.sampler.uniform import Uniform
from assay.runtime.testing.call import call_text, refusal_of
from assay.runtime.testing.factory import FactoryContract

_SIZE, _DRAWS = 10, 6000


class SamplerContract(FactoryContract):
    """What holds of a sampler.

    Attributes:
        sampler: Factory of the sampler.
        floor: Least chance of any task, as a part of its chance were all drawn alike; a grader that was broken for a
            while must starve nothing.
        band: Pass rates it looks for, lowest and highest; None where it looks for none.
        pick_s: Seconds that one pick of 5,000 known tasks may take, in the median.
    """

    kind = "sampler"
    sampler: ClassVar[Factory]
    floor: ClassVar[float] = 0.05
    band: ClassVar[tuple[float, float] | None] = None
    pick_s: ClassVar[float] = 0.01

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Leave out what it looks for where it looks for nothing."""
        return () if cls.band is not None else ("test_it_finds_what_it_looks_for",)

    def test_a_curriculum_can_call_it(self) -> None:
        """`sampler:` takes a call with the contract's options."""
        text = call_text(self.name, (), self.options)
        refusal = refusal_of("sampler", text, (), self.registry or installed())
        self.require(
            not refusal, f"`sampler: {text}` must hold", got=refusal, todo="Annotate parameters with their types"
        )

    def test_it_picks_a_task_there_is(self) -> None:
        """A whole number in [0, size), for one task and many, known and unknown."""
        for size in (1, 2, 7, 1000):
            for seen in histories(size):
                for seed in range(20):
                    picked: Any = self.make().pick(size, seen, random.Random(seed))
                    is_index = isinstance(picked, int) and not isinstance(picked, bool) and 0 <= picked < size
                    self.require(is_index, f"a sampler must pick a whole number in [0, {size})", got=picked)

    def test_no_task_is_out_of_reach(self) -> None:
        """Every task keeps its floor, also where all fail, all pass, or only others look worth it."""
        expected = _DRAWS * self.floor / _SIZE
        for name, seen in _named(_SIZE).items():
            rng, sampler = random.Random(f"floor:{name}"), self.make()
            counts = Counter(sampler.pick(_SIZE, seen, rng) for _ in range(_DRAWS))
            least = min(range(_SIZE), key=lambda index: counts[index])
            # Four standard deviations below what the floor gives.
            self.require(
                counts[least] >= expected - 4.0 * math.sqrt(expected) and counts[least] > 0,
                f"a task must keep {self.floor:g} of its even chance where {name}",
                got=f"{counts[least]} of {_DRAWS} draws for task {least}, {expected:.0f} expected",
                todo="Draw from all tasks with some chance",
            )

    def test_the_seed_decides(self) -> None:
        """Equal seeds draw the same, others do not always; no other chance is used."""
        seen = _named(1000)["tasks differ"]
        first, again, other = (self._draws(self.make(), seen, seed) for seed in (1, 1, 2))
        self.require(first == again, "a sampler must draw the same for the same seed", todo="Use the `rng` it is given")
        self.require(first != other, "a sampler must draw by its seed", got=first[:5])

    def test_a_new_one_goes_on_where_the_old_one_was(self) -> None:
        """After a kill there is a new one with the same history; it draws what the old one would have."""
        sampler = self.make()
        for seen in histories(1000):
            self._draws(sampler, seen, 3)
            old, new = self._draws(sampler, seen, 4), self._draws(self.make(), seen, 4)
            self.require(
                old == new,
                "a sampler must draw by what it is shown, and not by what it drew before",
                todo="Take what it needs from `seen`: it lies in the ledger, the sampler does not",
            )

    def test_what_it_is_shown_stays_as_it_is(self) -> None:
        """It changes nothing of the history, which belongs to the coordinator."""
        for seen in histories(50):
            before = dict(seen)
            self._draws(self.make(), seen, 5)
            self.require(before == seen, "a sampler must leave what it is shown as it is")

    def test_it_finds_what_it_looks_for(self) -> None:
        """A learner whose skill grows with what it plays meets more tasks inside the band than drawn evenly."""
        assert self.band is not None
        found, even = _inside(self.make(), self.band), _inside(Uniform(), self.band)
        self.require(
            found > even,
            f"a sampler must find more tasks with a pass rate in [{self.band[0]:g}, {self.band[1]:g}] than chance",
            got=f"{found:.0%} of the second half, {even:.0%} by chance",
        )

    def test_a_pick_is_quick(self) -> None:
        """The coordinator does nothing else meanwhile."""
        seen = {index: TaskStats(index, 3, (index % 9) / 8) for index in range(5000)}
        sampler, times = self.make(), []
        for seed in range(15):
            begun_s = time.perf_counter()
            sampler.pick(10_000, seen, random.Random(seed))
            times.append(time.perf_counter() - begun_s)
        median_s = statistics.median(times)
        self.require(
            median_s <= self.pick_s,
            f"a pick with 5,000 known tasks must take at most {self.pick_s:g} s",
            got=f"{median_s:.4f} s",
        )

    @staticmethod
    def _draws(sampler: Sampler, seen: Mapping[int, TaskStats], seed: int) -> list[int]:
        rng = random.Random(seed)
        return [sampler.pick(1000, seen, rng) for _ in range(30)]


def histories(size: int) -> Sequence[Mapping[int, TaskStats]]:
    """Return what may be known of the tasks of a domain."""
    return tuple(_named(size).values())


def _named(size: int) -> dict[str, dict[int, TaskStats]]:
    half = range(0, size, 2)
    return {
        "nothing is known": {},
        "all fail": {index: TaskStats(index, 9, 0.0) for index in range(size)},
        "all pass": {index: TaskStats(index, 9, 1.0) for index in range(size)},
        "half are known": {index: TaskStats(index, 2, 0.5) for index in half},
        "tasks differ": {index: TaskStats(index, 1 + index % 5, (index % 9) / 8) for index in range(size)},
        "one looks worth it": {index: TaskStats(index, 9, 0.5 if index == 0 else 0.0) for index in range(size)},
    }


def _inside(sampler: Sampler, band: tuple[float, float], size: int = 120, picks: int = 1500) -> float:
    """Return the part of picks, of the second half, whose true pass rate lies in a band, for a learner that learns."""
    rng = random.Random("learner")
    seen: dict[int, TaskStats] = {}
    skill, inside = 0.0, 0
    for number in range(picks):
        index = sampler.pick(size, seen, rng)
        rate = 1.0 / (1.0 + math.exp(12.0 * (index / size - skill)))
        played = sum(rng.random() < rate for _ in range(8)) / 8
        # Most is learned from what is neither solved nor hopeless.
        skill += 0.002 * rate * (1.0 - rate)
        before = seen.get(index, TaskStats(index, 0, 0.0))
        mean = (before.pass_rate * before.groups + played) / (before.groups + 1)
        seen[index] = msgspec.structs.replace(before, groups=before.groups + 1, pass_rate=mean)
        inside += number >= picks // 2 and band[0] <= rate <= band[1]
    return inside / (picks - picks // 2)
