"""Weights lie in memory where there is room, and folders of dead runs are removed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.runtime.weight.place import choose_weight_folder, reap_weight_folders, remove_weight_folder


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def test_small_weights_lie_in_memory_and_are_found_again(run: Path, memory: Path, tmp_path: Path) -> None:
    folder = choose_weight_folder(run, 1000, memory)
    assert folder.parent == memory
    assert choose_weight_folder(run, 1000, memory) == folder
    assert choose_weight_folder(tmp_path / "other", 1000, memory) != folder


def test_weights_without_room_in_memory_lie_in_the_run_folder(run: Path, memory: Path) -> None:
    assert choose_weight_folder(run, 10**18, memory) == run / "weights"
    assert choose_weight_folder(run, 10, memory) == run / "weights"
    assert list(memory.iterdir()) == []


def test_machine_without_shared_memory_uses_the_run_folder(run: Path, memory: Path) -> None:
    assert choose_weight_folder(run, 10, memory / "absent") == run / "weights"


def test_only_folders_of_dead_runs_are_reaped(run: Path, memory: Path, tmp_path: Path) -> None:
    alive = choose_weight_folder(run, 10, memory)
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    dead = choose_weight_folder(tmp_path / "dead", 10, memory)
    owner = json.loads((dead / "owner.json").read_text())
    (dead / "owner.json").write_text(json.dumps(owner | {"pid": process.pid}))
    reused = choose_weight_folder(tmp_path / "reused", 10, memory)
    (reused / "owner.json").write_text(json.dumps(owner | {"pid": os.getpid(), "started": "1"}))
    stranger = memory / "assay-weights-stranger"
    stranger.mkdir()
    assert sorted(reap_weight_folders(memory)) == sorted([dead, reused])
    assert sorted(memory.iterdir()) == sorted([alive, stranger])
    remove_weight_folder(alive)
    remove_weight_folder(alive)
    assert list(memory.iterdir()) == [stranger]
