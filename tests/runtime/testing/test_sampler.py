"""Every clause of the contract of samplers turns red for a sampler that breaks it."""

import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from red import breaks

from assay.core.scheduler import TaskStats
from assay.runtime.sampler import Band, Uniform
from assay.runtime.testing.sampler import SamplerContract


class Beyond:
    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        return rng.randrange(size + 1)


class Texts:
    def __init__(self, low: str = "0.2") -> None:
        self.low = float(low)

    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        return rng.randrange(size)


class Inexact:
    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> Any:
        return float(rng.randrange(size))


class Strict:
    """Never leaves its band."""

    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        inside = [task.index for task in seen.values() if 0.2 <= task.pass_rate <= 0.8]
        return rng.choice(inside) if inside else rng.randrange(size)


class Chancy:
    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        return random.randrange(size)


class First:
    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        return 0


class Walking:
    """Remembers where it was."""

    at = 0

    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        self.at += 1
        return (self.at + rng.randrange(size)) % size


class Forgetting:
    def pick(self, size: int, seen: Any, rng: random.Random) -> int:
        seen.clear()
        return rng.randrange(size)


class Hopeless:
    """Prefers what always fails."""

    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        failed = [task.index for task in seen.values() if task.pass_rate == 0.0]
        return rng.choice(failed) if failed and rng.random() < 0.9 else rng.randrange(size)


class Slow:
    def pick(self, size: int, seen: Mapping[int, TaskStats], rng: random.Random) -> int:
        return max(range(size), key=lambda index: rng.random() - seen[index].pass_rate if index in seen else 0.0)


@pytest.mark.parametrize(
    ("clause", "target", "must"),
    [
        ("test_it_picks_a_task_there_is", Beyond, "must pick a whole number"),
        ("test_it_picks_a_task_there_is", Inexact, "must pick a whole number"),
        ("test_no_task_is_out_of_reach", Strict, "must keep 0.05 of its even chance where half are known"),
        ("test_the_seed_decides", Chancy, "the same for the same seed"),
        ("test_the_seed_decides", First, "must draw by its seed"),
        ("test_a_new_one_goes_on_where_the_old_one_was", Walking, "and not by what it drew before"),
        ("test_what_it_is_shown_stays_as_it_is", Forgetting, "must leave what it is shown"),
    ],
)
def test_a_wrong_sampler_turns_its_clause_red(clause: str, target: Any, must: str) -> None:
    assert must in breaks(SamplerContract, clause, target)


def test_a_sampler_that_looks_elsewhere_turns_its_clause_red() -> None:
    clause = "test_it_finds_what_it_looks_for"
    assert "must find more tasks" in breaks(SamplerContract, clause, Hopeless, band=(0.2, 0.8))


def test_a_sampler_that_no_curriculum_can_call_turns_its_clause_red() -> None:
    clause = "test_a_curriculum_can_call_it"
    assert "`sampler: wrong(low=0.3)` must hold" == breaks(SamplerContract, clause, Texts, options={"low": 0.3})


def test_a_slow_sampler_turns_its_clause_red() -> None:
    assert "at most 0.0001 s" in breaks(SamplerContract, "test_a_pick_is_quick", Slow, pick_s=1e-4)


def test_a_sampler_that_looks_for_nothing_is_not_asked_what_it_found() -> None:
    assert ("test_it_finds_what_it_looks_for",) == SamplerContract.of(Uniform).left_out()
    assert () == SamplerContract.of(Band, band=(0.2, 0.8)).left_out()
