"""What the built-in strategies pick."""

import random
from collections import Counter

import pytest

from assay.core.error import ConfigError
from assay.core.strategy import Sample
from assay.runtime.strategy import BestOf, Majority


def samples(*answers: str | None, **changes: object) -> list[Sample]:
    return [Sample(answer, answer or "?", 5, -1.0 - index / 10, **changes) for index, answer in enumerate(answers)]  # type: ignore[arg-type]


def picks(strategy: Majority | BestOf, given: list[Sample], seeds: int = 200) -> Counter[int]:
    return Counter(strategy.pick(given, random.Random(seed)) for seed in range(seeds))


def test_most_votes_win() -> None:
    assert {1: 200} == picks(Majority(), samples("4", "5", "3", "5"))


def test_white_space_makes_no_other_answer() -> None:
    assert {0: 200} == picks(Majority(), samples("a b", "c", " a\n b "))


def test_an_answer_that_does_not_parse_has_no_vote() -> None:
    assert {2: 200} == picks(Majority(), samples(None, None, "5", None))


def test_a_tie_is_decided_by_the_seed_and_not_by_the_order() -> None:
    found = picks(Majority(), samples("4", "5"))
    assert {0, 1} == set(found)
    assert min(found.values()) > 60
    turned = [Majority().pick(samples("5", "4"), random.Random(seed)) for seed in range(50)]
    assert turned == [1 - Majority().pick(samples("4", "5"), random.Random(seed)) for seed in range(50)]


def test_without_any_vote_chance_picks() -> None:
    assert {0, 1, 2} == set(picks(Majority(), samples(None, None, None)))


def test_the_most_certain_sample_is_best() -> None:
    assert {0: 200} == picks(BestOf(), samples("4", "5", "3"))


def test_a_signal_chooses_and_a_sample_without_it_comes_last() -> None:
    given = [Sample("4", "4", 1, 0.0, signals={}), *samples("5", "6", signals={"judge.quality": 0.25})]
    assert {1, 2} == set(picks(BestOf("judge.quality"), given))
    given.append(Sample("7", "7", 1, -9.0, signals={"judge.quality": True}))
    assert {3: 200} == picks(BestOf("judge.quality"), given)


@pytest.mark.parametrize("signal", ["mean_logprob", "judge.quality"])
def test_what_is_no_number_comes_last(signal: str) -> None:
    given = [Sample("1", "1", 1, value, signals={"judge.quality": value}) for value in (float("nan"), -2.0)]
    assert {1: 200} == picks(BestOf(signal), given)
    assert {0: 200} == picks(BestOf(signal), given[:1])


@pytest.mark.parametrize("signal", ["quality", "a.b.c", ""])
def test_a_signal_that_is_none_is_refused(signal: str) -> None:
    with pytest.raises(ConfigError, match="must have the signal"):
        BestOf(signal)
