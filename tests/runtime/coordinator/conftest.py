"""Lets the tests of this folder import the fake world beside them, and makes worlds."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from coordinator_world import World, spec

from assay.runtime.coordinator.spec import StageSpec


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., World]:
    """Return a maker of worlds: one stage of three steps, unless told otherwise."""

    def world(**changes: Any) -> World:
        phases = (StageSpec("rl", "rl", batch=2, steps=3),)
        return World(spec(**{"phases": phases, **changes}), tmp_path / "ledger.sqlite")

    return world
