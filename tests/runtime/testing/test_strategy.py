"""Every clause of the contract of strategies turns red for a strategy that breaks it."""

import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from red import breaks

from assay.core.strategy import Sample
from assay.runtime.strategy import Majority
from assay.runtime.testing.strategy import Picked, StrategyContract


class Last:
    def pick(self, samples: Sequence[Sample], rng: random.Random) -> Any:
        return len(samples)


class Second:
    def pick(self, samples: Sequence[Sample], rng: random.Random) -> int:
        return min(1, len(samples)) if samples[0].answer is None else 0


class Chancy:
    def pick(self, samples: Sequence[Sample], rng: random.Random) -> int:
        return random.randrange(len(samples))


class Turning:
    """Remembers that it was asked."""

    asked = 0

    def pick(self, samples: Sequence[Sample], rng: random.Random) -> int:
        self.asked += 1
        return self.asked % len(samples)


class Grabbing:
    def pick(self, samples: Any, rng: random.Random) -> int:
        samples.append(samples[0])
        return 0


class Unnamed:
    signals = ("quality",)

    def pick(self, samples: Sequence[Sample], rng: random.Random) -> int:
        return 0


class Slow:
    def pick(self, samples: Sequence[Sample], rng: random.Random) -> int:
        until_s = time.perf_counter() + 0.003
        while time.perf_counter() < until_s:
            pass
        return 0


VOTES = [Sample("4", "4", 1, 0.0), Sample("5", "5", 1, 0.0), Sample("5", "5", 1, 0.0)]


@pytest.mark.parametrize(
    ("clause", "target", "must", "attributes"),
    [
        ("test_cases_give_the_answers_they_must", Slow, "must count ['5']", {"cases": [Picked(VOTES, ["5"])]}),
        ("test_cases_give_the_answers_they_must", Majority, "must have cases", {}),
        ("test_it_picks_an_answer_there_is", Last, "must pick a position", {}),
        ("test_one_answer_is_that_answer", Second, "must pick that one", {}),
        ("test_the_seed_decides_and_nothing_else", Chancy, "the same for the same seed", {}),
        ("test_the_seed_decides_and_nothing_else", Turning, "the same for the same seed", {}),
        ("test_what_it_is_shown_stays_as_it_is", Grabbing, "must leave what it is shown", {}),
        ("test_signals_are_named_as_domains_name_them", Unnamed, "must name signals", {}),
        ("test_a_pick_is_quick", Slow, "at most 0.001 s", {"pick_s": 0.001}),
    ],
)
def test_a_wrong_strategy_turns_its_clause_red(clause: str, target: Any, must: str, attributes: dict[str, Any]) -> None:
    assert must in breaks(StrategyContract, clause, target, **attributes)


def test_answers_that_agree_cannot_be_argued_with() -> None:
    class Rewriting:
        def pick(self, samples: Any, rng: random.Random) -> int:
            samples[:] = [Sample("43", "43", 1, 0.0)] * len(samples)
            return 0

    clause = "test_answers_that_agree_are_not_argued_with"
    assert "must count" in breaks(StrategyContract, clause, Rewriting)
