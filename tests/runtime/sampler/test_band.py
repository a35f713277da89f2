"""Samplers: what they prefer, and that nothing is ever out of reach."""

import random
from collections import Counter

import pytest

from assay.core.error import ConfigError
from assay.core.scheduler import TaskStats
from assay.runtime.sampler import Band, Uniform

SEEN = {index: TaskStats(index, 3, rate) for index, rate in enumerate([0.0, 0.2, 0.5, 0.8, 1.0])}


def draws(sampler: Band | Uniform, seen: dict[int, TaskStats], size: int = 20) -> Counter[int]:
    rng = random.Random(0)
    return Counter(sampler.pick(size, seen, rng) for _ in range(4000))


def test_a_band_prefers_tasks_inside_it() -> None:
    found = draws(Band(low=0.2, high=0.8, explore=0.1), SEEN)
    assert sum(found[index] for index in (1, 2, 3)) > 0.88 * 4000


def test_an_empty_band_draws_from_all() -> None:
    found = draws(Band(low=0.4, high=0.45), SEEN)
    assert set(range(20)) == set(found)
    assert max(found.values()) < 2 * min(found.values())


def test_uniform_forgets_what_it_has_seen() -> None:
    found = draws(Uniform(), SEEN)
    assert max(found.values()) < 2 * min(found.values())


@pytest.mark.parametrize("options", [{"low": 0.9}, {"high": 1.5}, {"low": -0.1}, {"explore": 0.0}, {"explore": 2.0}])
def test_a_band_that_cannot_be_meant_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Band(**options)


def test_a_band_leaves_no_task_out_of_reach() -> None:
    found = draws(Band(low=0.2, high=0.8, explore=0.1), SEEN)
    # 4000 draws, a tenth of them from all 20 tasks: also those that were never solved, or never seen.
    assert set(range(20)) == set(found)
    assert min(found.values()) > 5
