"""Real runs, started once and shared where a test only looks."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from real_run import SMALL, Command


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Callable[..., Command]]:
    """Starts commands in an empty folder and ends them with the test."""
    commands: list[Command] = []

    def start(*words: str) -> Command:
        commands.append(Command(words, tmp_path))
        return commands[-1]

    yield start
    for one in commands:
        one.end()


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """One whole run with real processes, over when the fixture returns."""
    command = Command(("train", *SMALL), tmp_path_factory.mktemp("small"))
    try:
        assert 0 == command.wait(), command.output
    finally:
        command.end()
    return command
