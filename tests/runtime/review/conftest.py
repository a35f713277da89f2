"""One stored run for the tests of this folder; each test that marks it gets a copy of its folder."""

import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "regrade"))

from assay.runtime.regrade.stored import StoredRun
from assay.runtime.run.folder import RunFolder


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A run of sixteen episodes with verdicts: one success, one unscored."""
    world = import_module("world").World(tmp_path_factory.mktemp("reviewed") / "stored")
    yield world
    world.host.close()


@pytest.fixture
def folder(world: Any, tmp_path: Path) -> Path:
    """A copy of the run to be marked."""
    path = tmp_path / "runs" / "stored"
    shutil.copytree(world.folder.path, path)
    return path


@pytest.fixture
def stored(folder: Path) -> Iterator[StoredRun]:
    """The copy, opened."""
    with StoredRun(RunFolder(folder)) as run:
        yield run
