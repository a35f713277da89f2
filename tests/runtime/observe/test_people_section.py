"""What people say about a run's verifiers stands in its report."""

import json
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "regrade"))

from assay.runtime.launch.run import empty_summary
from assay.runtime.observe.people_section import people_section, people_summary, refresh
from assay.runtime.review.store import Mark, ReviewStore
from assay.runtime.run.folder import RunFolder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    world = import_module("world").World(tmp_path_factory.mktemp("people") / "stored")
    yield world
    world.host.close()


@pytest.fixture
def folder(world: Any, tmp_path: Path) -> RunFolder:
    path = tmp_path / "stored"
    shutil.copytree(world.folder.path, path)
    return RunFolder(path)


def mark(folder: RunFolder, *episodes: int, reviewer: str = "<b>ann</b>") -> None:
    with ReviewStore(folder.path) as store:
        for episode in episodes:
            store.keep(Mark(0, reviewer, episode, "success", 1.0, "sample"))


def test_run_that_nobody_has_looked_at_says_nothing_of_people(folder: RunFolder) -> None:
    assert None is people_summary(folder)
    refresh(folder)
    assert not folder.report.exists()
    with ReviewStore(folder.path):
        pass
    assert None is people_summary(folder)


def test_marks_stand_in_summary_and_report_once_the_run_is_over(folder: RunFolder) -> None:
    mark(folder, *range(9), *range(10, 16))
    refresh(folder)
    assert not folder.report.exists()
    folder.summary.write_text(json.dumps(empty_summary(("edit",), 1.0)))
    refresh(folder)
    assert {"<b>ann</b>": 15} == json.loads(folder.summary.read_text())["people"]["marks"]
    page = folder.report.read_text()
    assert "<h2>People</h2>" in page and "<strong>agrees badly with people</strong>" in page
    assert "6.7% (1% to 30%)" in page
    assert "&lt;b&gt;ann&lt;/b&gt; 15" in page and "<b>ann" not in page


def test_reviewers_who_agree_are_told_of(folder: RunFolder) -> None:
    mark(folder, 1, 2)
    mark(folder, 1, 2, reviewer="bob")
    people = people_summary(folder)
    assert people is not None
    assert "reviewers agree in 100.0% of 2 pairs" in people_section(people)
