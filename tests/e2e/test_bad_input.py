"""What a user gets wrong: each a clear error with its code, before anything is recorded."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from real_run import SMALL, Command, living

pytestmark = pytest.mark.slow

CURRICULUM = """
assay: 1
curriculum: mine
mix:
  one: {{domain: {domain}, share: 1}}
stages:
  all: {{until: step >= 1}}
"""


def assay(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "assay", *words]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=120)


def test_unknown_curriculum_names_the_known_ones(tmp_path: Path) -> None:
    ended = assay("train", "curriculum=quickstat", folder=tmp_path)
    assert 1 == ended.returncode
    assert "error[CF001]" in ended.stderr
    assert "quickstart" in ended.stderr
    assert [] == list(tmp_path.iterdir())


def test_missing_plugin_is_named_by_what_it_would_offer(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(CURRICULUM.format(domain="nobody.has_this"))
    ended = assay("train", "curriculum=mine.yaml", folder=tmp_path)
    assert 1 == ended.returncode
    assert "unknown domain `nobody.has_this`" in ended.stderr
    assert "mine.yaml:5" in ended.stderr
    assert not (tmp_path / "runs").exists()


def test_broken_yaml_is_a_finding_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("assay: 1\ncurriculum: mine\nmix: {one: [\n")
    ended = assay("train", "curriculum=mine.yaml", folder=tmp_path)
    assert 1 == ended.returncode
    assert "error[YM005]" in ended.stderr
    assert "mine.yaml:" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_run_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    ended = assay("train", f"run.folder={tmp_path / 'file' / 'runs'}", folder=tmp_path)
    assert 1 == ended.returncode
    assert "the folder of runs must be writable" in ended.stderr
    assert "Set run.folder" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_policy_folder_that_is_none_is_refused_at_once(tmp_path: Path) -> None:
    ended = assay("train", "policy=folder", f"policy.path={tmp_path}", folder=tmp_path)
    assert 1 == ended.returncode
    assert "a policy folder must hold a config.json" in ended.stderr
    assert not (tmp_path / "runs").exists()


def test_process_that_cannot_live_ends_the_run_with_its_words(command: Callable[..., Command]) -> None:
    run = command("train", *SMALL, "engine.dtype=bfloat16")
    assert 1 == run.wait(), run.output
    assert "rollout-0 must stay alive" in run.output
    assert "a policy on a CPU must be float32, got bfloat16" in run.output
    assert [] == living(run.process.pid)


def test_resuming_nothing_is_refused(tmp_path: Path) -> None:
    ended = assay("train", "resume=latest", folder=tmp_path)
    assert 1 == ended.returncode
    assert "a run must be named by its folder, got latest" in ended.stderr


def test_resuming_with_another_configuration_is_refused(tmp_path: Path) -> None:
    ended = assay("train", "resume=latest", "trainer.lr=1e-4", folder=tmp_path)
    assert 1 == ended.returncode
    assert "a resumed run must keep its configuration, got trainer.lr=1e-4" in ended.stderr


def test_run_without_checkpoint_cannot_be_resumed(command: Callable[..., Command]) -> None:
    run = command("train", *SMALL, "trainer.checkpoint_every=1000")
    run.until(lambda status: status["phase"] == "warmup" or status["step"] >= 1)
    run.end()
    rows = json.loads((run.run_folder / "status.json").read_text())
    ended = assay("train", "resume=latest", folder=run.folder)
    assert 1 == ended.returncode
    assert "a run must have a checkpoint to be resumed from, got none" in ended.stderr
    # Nothing that was recorded is lost or changed.
    assert rows["counts"] == json.loads((run.run_folder / "status.json").read_text())["counts"]


def test_socket_in_use_is_named(small_run: Command, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    (folder / "sock").mkdir(parents=True)
    (folder / "run.json").write_bytes((small_run.run_folder / "run.json").read_bytes())
    short = Path(os.path.relpath(folder / "sock" / "coordinator"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(short))
        listener.listen()
        argv = [sys.executable, "-m", "assay.runtime.stage", "coordinator", "coordinator", str(folder)]
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert 1 == ended.returncode
    assert "the coordinator's socket must not be in use" in ended.stderr
    assert not (folder / "ledger.sqlite").exists()
