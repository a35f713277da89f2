"""The strategy keeps the contract of strategies."""

import random

import pytest
from assay_example_strategy import CONFIDENT_VOTE
from assay_example_strategy.vote import ConfidentVote

from assay.core.error import ConfigError
from assay.core.strategy import Sample
from assay.testing import Picked, StrategyContract


def samples(**logprobs: float) -> list[Sample]:
    return [Sample(name.rstrip("_"), name, 5, logprob) for name, logprob in logprobs.items()]


GUESSED_TWICE = samples(a=-0.1, b=-2.0, b_=-2.0)

TestConfidentVote = StrategyContract.of(
    CONFIDENT_VOTE,
    cases=[
        Picked(GUESSED_TWICE, ["a"]),
        Picked(samples(a=-0.5, b=-0.6, b_=-0.6), ["b"]),
        Picked(samples(a=-1.0, b=-1.0), ["a", "b"]),
        Picked([Sample(None, "?", 1, 0.0), *samples(a=-9.0)], ["a"]),
    ],
)


def test_temperature_goes_from_the_most_certain_to_the_majority() -> None:
    picks = [
        GUESSED_TWICE[ConfidentVote(temperature).pick(GUESSED_TWICE, random.Random(0))].answer
        for temperature in (0.1, 1.0, 100.0)
    ]
    assert picks == ["a", "a", "b"]
    with pytest.raises(ConfigError, match="above 0"):
        ConfidentVote(0.0)
