"""The curriculum over all domains is found by its name, sound, and compiles quickly."""

import time
from pathlib import Path

import pytest

from assay.core.registry import Registry, installed
from assay.dsl.curriculum import CompiledCurriculum, compile_curriculum
from assay.dsl.source.loader import load
from assay.runtime.config.folder import find, folders
from assay_domain_reasoning_gym.recipe import RECIPES


def compiled(registry: Registry, name: str = "reasoning_gym_all") -> CompiledCurriculum:
    path = find("curriculum", name, folders(registry))
    assert path is not None
    loaded = load(path.read_bytes(), str(path))
    assert loaded.tree is not None
    return compile_curriculum(loaded.tree, registry, Path(), findings=loaded.findings)


def test_curriculum_mixes_every_domain_without_finding() -> None:
    found = compiled(installed())

    assert () == found.findings
    assert found.curriculum is not None
    entries = {name: entry.domain for name, entry in found.curriculum.mix.items()}
    assert {name: f"reasoning_gym.{name}" for name in RECIPES} == entries


def test_each_step_has_a_group_of_every_domain() -> None:
    curriculum = compiled(installed()).curriculum
    assert curriculum is not None

    for stage in curriculum.stages:
        assert stage.batch is not None
        assert all(share * stage.batch >= 1 - 1e-9 for share in stage.share.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reasoning_gym_all", "reasoning_gym_100"])
def test_curriculum_compiles_in_two_seconds_of_one_core(name: str) -> None:
    registry = installed()
    begin = time.process_time()
    compiled(registry, name)

    assert time.process_time() - begin < 2.0


def test_hundred_entries_have_unequal_shares_and_a_group_each() -> None:
    found = compiled(installed(), "reasoning_gym_100")

    assert () == found.findings
    assert found.curriculum is not None
    shares = sorted(entry.share for entry in found.curriculum.mix.values())
    assert 100 == len(shares)
    assert {entry.domain for entry in found.curriculum.mix.values()} == {f"reasoning_gym.{name}" for name in RECIPES}
    assert shares[0] == pytest.approx(0.005)
    assert shares[-4:] == pytest.approx([0.06, 0.06, 0.07, 0.08])
    for stage in found.curriculum.stages:
        assert stage.batch is not None
        assert min(stage.share.values()) * stage.batch >= 1 - 1e-9
