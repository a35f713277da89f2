"""One real run of which everything comes from a package: engine, trainer, store, launcher, tracker, chat format."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.examples.conftest import Run

pytestmark = pytest.mark.slow

PARTS = {"engine": "metered", "trainer": "torch", "store": "zlib", "launcher": "polite", "tracker": "sqlite"}
WORDS = (
    "policy=bytes",
    "policy.chat_format=tagged",
    "launcher.niceness=1",
    "curriculum.stages.warmup.until=step >= 2",
    "curriculum.stages.learn.until=step >= 4",
    "eval.tasks=4",
)


def test_run_of_packages_trains_and_is_exported(run: Run, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    choices = [f"{kind}={name}" for kind, name in PARTS.items()]
    ran = run("assay", "train", *choices, *WORDS, f"run.folder={runs}")
    assert 0 == ran.returncode, ran.stdout + ran.stderr
    folder = (runs / "latest").resolve()
    plan = json.loads((folder / "run.json").read_text())
    dists = {kind: plan["factories"][kind].partition(":")[0] for kind in ("chat_format", *PARTS) if kind != "tracker"}
    assert {kind: f"assay-example-{kind.replace('_', '-')}" for kind in dists} == dists
    assert 4 == json.loads((folder / "summary.json").read_text())["updates"]
    log = (folder / "logs" / "rollout-0.log").read_text()
    assert "metered: " in log
    assert "alarm" not in log  # the probe: the engine computes what the trainer computes
    command = json.loads((folder / "processes.json").read_text())["processes"][0]["argv"]
    assert ["-n", "1"] == command[1:3]
    with closing(sqlite3.connect(runs / "experiments.sqlite")) as db:
        assert [(1,), (2,), (3,), (4,)] == db.execute("SELECT step FROM step ORDER BY version").fetchall()
    for words in (("explain", str(folder), "1"), ("try", "quickstart.spell", "--replay", f"{folder}:1")):
        ran = run("assay", *words)
        assert 0 == ran.returncode, ran.stdout + ran.stderr
    ran = run("assay", "export", str(folder), "--to", "numpy", str(tmp_path / "exported"))
    assert 0 == ran.returncode, ran.stdout + ran.stderr
    assert (tmp_path / "exported" / "policy.json").is_file()
