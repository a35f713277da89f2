"""A folder of config groups that breaks a clause is told so; one that breaks none passes."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.runtime.testing.clause import unseen

import assay
from assay.core.registry import Registry, installed
from assay.testing import ConfigDirContract

FEW = "tasks: 3\nevery: 0\ntemperature: 0.0\n"
WRONG = [
    ({}, "test_its_files_lie_in_groups", "must have files, got none in "),
    ({"few.yaml": FEW}, "test_its_files_lie_in_groups", "such as trainer/large.yaml, got few.yaml"),
    ({"evals/few.yaml": FEW}, "test_its_files_lie_in_groups", "such as trainer/large.yaml, got evals/few.yaml"),
    ({"eval/few.yaml": "task: 3\n"}, "test_every_file_can_be_chosen", "`eval=few` must compose without a finding"),
    ({"eval/held_out.yaml": FEW}, "test_every_file_can_be_chosen", "must choose this package's file, got "),
]
Make = Callable[[dict[str, str]], type[ConfigDirContract]]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return the contract of a package with the given files."""
    name = "assay_wrong_conf"

    def call(files: dict[str, str]) -> type[ConfigDirContract]:
        (tmp_path / name / "conf").mkdir(parents=True)
        (tmp_path / name / "__init__.py").touch()
        for inside, text in files.items():
            path = tmp_path / name / "conf" / inside
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        registry = Registry()
        for offer in installed().offers:
            registry.plugins.setdefault(offer.dist, offer.version)
            registry._offer(offer)
        registry.add(SimpleNamespace(assay_config_dirs=assay.hookimpl(lambda: [f"{name}/conf"])), "assay-wrong", "1.0")
        return ConfigDirContract.of(f"{name}/conf", registry=registry)

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return call


@pytest.mark.slow
@pytest.mark.parametrize(("files", "clause", "said"), WRONG)
def test_wrong_folder_breaks_its_clause(files: dict[str, str], clause: str, said: str, make: Make, breaks: Any) -> None:
    message = breaks(make(files), clause)
    assert said in message
    assert "at config folder `assay_wrong_conf/conf` of assay-wrong 1.0" in message


def test_every_clause_was_seen_red() -> None:
    assert set() == unseen(ConfigDirContract, [clause for _, clause, _ in WRONG])


@pytest.mark.slow
def test_right_folder_breaks_no_clause(make: Make) -> None:
    contract = make({"eval/few.yaml": FEW})()
    contract.test_its_files_lie_in_groups()
    contract.test_every_file_can_be_chosen()


def test_folder_that_is_not_there_is_told_of(breaks: Any, make: Make) -> None:
    registry = Registry()
    registry.add(SimpleNamespace(assay_config_dirs=assay.hookimpl(lambda: ["assay/nowhere"])), "assay-wrong", "1.0")
    contract = ConfigDirContract.of("assay/nowhere", registry=registry)
    assert "a folder of config groups must exist" in breaks(contract, "test_its_files_lie_in_groups")
