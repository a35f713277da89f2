"""The sampler keeps the contract of samplers, and prefers what it says it does."""

import random
from collections import Counter

import pytest
from assay_example_sampler import FRONTIER
from assay_example_sampler.frontier import Frontier

from assay.core.error import ConfigError
from assay.core.scheduler import TaskStats
from assay.testing import SamplerContract

TestFrontier = SamplerContract.of(FRONTIER, band=(0.2, 0.8))
TestFrontierWithAHighFloor = SamplerContract.of(FRONTIER, options={"candidates": 4, "floor": 0.5}, floor=0.4)


def test_half_solved_comes_before_unknown_and_unknown_before_solved() -> None:
    seen = {0: TaskStats(0, 9, 0.5), 1: TaskStats(1, 9, 1.0), 2: TaskStats(2, 9, 0.0)}
    rng = random.Random(0)
    counts = Counter(Frontier().pick(4, seen, rng) for _ in range(4000))
    assert counts[0] > counts[3] > 2 * max(counts[1], counts[2])


@pytest.mark.parametrize("options", [{"candidates": 0}, {"floor": 0.0}, {"floor": 1.5}])
def test_a_frontier_that_cannot_be_meant_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="frontier must have"):
        Frontier(**options)  # type: ignore[arg-type]
