"""One stored run for all tests of this folder."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from world import World


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A run of sixteen episodes with verdicts; nobody writes into its ledger again."""
    world = World(tmp_path_factory.mktemp("runs") / "stored")
    yield world
    world.host.close()
