"""The contract of a test-time strategy: it picks one of the answers there are, by what a deployed system would have.

A strategy is tried on sampled answers with fixed seeds, and on the author's cases. That it picks better than chance is
not claimed; `assay eval eval.strategy=...` measures it.
"""

import random
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import msgspec

from assay.core.leaf import Factory
from assay.core.strategy import Sample
from assay.runtime.testing.factory import FactoryContract


class Picked(msgspec.Struct, frozen=True):
    """One case of a strategy.

    Attributes:
        samples: Answers to a task.
        answers: The answers that may count; several where chance decides between them.
    """

    samples: Sequence[Sample]
    answers: Sequence[str | None]


class StrategyContract(FactoryContract):
    """What holds of a strategy.

    Attributes:
        strategy: Factory of the strategy.
        cases: Answers, and which may count; at least one.
        pick_s: Seconds that one pick of 64 answers may take, in the median.
    """

    kind = "strategy"
    strategy: ClassVar[Factory]
    cases: ClassVar[Sequence[Picked]] = ()
    pick_s: ClassVar[float] = 0.01

    def test_cases_give_the_answers_they_must(self) -> None:
        """Each of the author's cases, whatever the seed; where chance decides, it does."""
        self.require(self.cases, "a contract must have cases", todo="Add `cases=[Picked(samples, answers)]`")
        for case in self.cases:
            found = {case.samples[self._pick(case.samples, seed)].answer for seed in range(64)}
            self.require(
                found == set(case.answers),
                f"of {[sample.answer for sample in case.samples]} must count {list(case.answers)}",
                got=sorted(map(repr, found)),
            )

    def test_it_picks_an_answer_there_is(self) -> None:
        """A position in the samples it is shown, which are those that were verified; also where no answer parsed."""
        for seed, samples in enumerate(situations()):
            picked: Any = self._pick(samples, seed)
            is_position = isinstance(picked, int) and not isinstance(picked, bool) and 0 <= picked < len(samples)
            self.require(is_position, f"a strategy must pick a position in [0, {len(samples)})", got=picked)

    def test_one_answer_is_that_answer(self) -> None:
        """With a single sample the strategy changes nothing."""
        for samples in situations():
            picked = self._pick(samples[:1], 0)
            self.require(picked == 0, "of one answer a strategy must pick that one", got=picked)

    def test_answers_that_agree_are_not_argued_with(self) -> None:
        """Where all samples gave one answer, that answer counts."""
        samples = [Sample("42", f"so 42{' ' * n}", 3 + n, -n / 4, signals=_signals(self.make(), n)) for n in range(5)]
        answer = samples[self._pick(samples, 0)].answer
        self.require(answer == "42", "an answer that all samples gave must count", got=answer)

    def test_the_seed_decides_and_nothing_else(self) -> None:
        """Asked again, and asked of a new one, a strategy picks the same for the same seed."""
        for seed, samples in enumerate(situations()):
            strategy = self.make()
            picks = [one.pick(samples, random.Random(seed)) for one in (strategy, strategy, self.make())]
            self.require(
                len(set(picks)) == 1,
                "a strategy must pick the same for the same seed",
                got=picks,
                todo="Use the `rng` it is given, and remember nothing",
            )

    def test_what_it_is_shown_stays_as_it_is(self) -> None:
        """It changes nothing of the samples."""
        for seed, samples in enumerate(situations()):
            before = msgspec.json.encode(samples)
            self._pick(samples, seed)
            self.require(before == msgspec.json.encode(samples), "a strategy must leave what it is shown as it is")

    def test_signals_are_named_as_domains_name_them(self) -> None:
        """What it says that it chooses by are names of two parts, such as `judge.quality`."""
        signals = getattr(self.make(), "signals", ())
        strange = [name for name in signals if not isinstance(name, str) or name.count(".") != 1]
        self.require(not strange, "a strategy must name signals as `verifier.signal`", got=strange)

    def test_a_pick_is_quick(self) -> None:
        """An evaluation picks once per task."""
        rng = random.Random(9)
        samples = [_sample(rng, number) for number in range(64)]
        times = []
        for seed in range(9):
            begun_s = time.perf_counter()
            self._pick(samples, seed)
            times.append(time.perf_counter() - begun_s)
        median_s = statistics.median(times)
        self.require(
            median_s <= self.pick_s,
            f"a pick of 64 answers must take at most {self.pick_s:g} s",
            got=f"{median_s:.4f} s",
        )

    def _pick(self, samples: Sequence[Sample], seed: int) -> int:
        picked: int = self.make().pick(samples, random.Random(seed))
        return picked


def situations() -> Iterator[list[Sample]]:
    """Yield answers to a task: one and many, all alike, none parsed, with signals and without."""
    rng = random.Random(8)
    yield [Sample(None, "", 0, 0.0)]
    yield [Sample(None, "?", 1, -1.0), Sample(None, "?", 1, -1.0, is_truncated=True)]
    yield [Sample("a", "a", 1, 0.0)] * 4
    for size in (2, 3, 5, 8, 16):
        for _ in range(8):
            yield [_sample(rng, number) for number in range(size)]


def _sample(rng: random.Random, number: int) -> Sample:
    answer = rng.choice([None, "1", "2", " 2\n", "3", "é\U0001f600", f"own {number}"])
    tokens = rng.randrange(40)
    signals = {"judge.quality": rng.random(), "judge.fluent": rng.random() < 0.5} if rng.random() < 0.7 else {}
    return Sample(answer, answer or "?", tokens, -4.0 * rng.random() if tokens else 0.0, rng.random() < 0.1, signals)


def _signals(strategy: Any, number: int) -> dict[str, float]:
    return {name: number / 8 for name in getattr(strategy, "signals", ())}
