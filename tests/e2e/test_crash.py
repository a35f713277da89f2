"""A real run whose processes are stopped and killed: nothing is lost, nothing is trained twice, the run goes on."""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from real_run import Command, living

from assay.core.group import Batch
from assay.core.trajectory import WeightVersion
from assay.runtime.coordinator.ledger import read_only

pytestmark = pytest.mark.slow

HEARTBEAT_S = 0.25
LEASE_S = 3 * HEARTBEAT_S
NUM_STEPS = 90
STEPS = (
    "curriculum.stages.warmup.until=step >= 20",
    f"curriculum.stages.learn.until=step >= {NUM_STEPS}",
    "curriculum.stages.learn.batch=16",
    "eval.tasks=8",
    "trainer.checkpoint_every=5",
    f"launcher.heartbeat_s={HEARTBEAT_S}",
)


def test_run_survives_the_death_of_every_role(command: Callable[..., Command]) -> None:
    run = command("train", *STEPS)
    run.until(lambda status: status["step"] >= 25)
    _stop_coordinator(run)
    lives = {"coordinator": 1, "verify-0": 1, "rollout-0": 1, "source-0": 1, "update-0": 1}
    for name in ("verify-0", "rollout-0", "source-0", "coordinator", "update-0"):
        step = run.status()["step"]
        os.kill(run.processes()[name]["pid"], signal.SIGKILL)
        lives[name] += 1
        _until_back(run, name, lives[name])
        # A trainer goes back to its checkpoint, so its step may fall first.
        run.until(lambda status, step=step: status["step"] >= min(step + 2, NUM_STEPS))
    assert 0 == run.wait(), run.output

    assert lives == {name: len(one["lives"]) for name, one in run.processes().items()}
    assert [] == living(run.process.pid)
    ledger = read_only(run.run_folder / "ledger.sqlite")
    assert_nothing_lost(ledger, run)
    assert_nothing_trained_twice(ledger)
    versions = [WeightVersion.unpack(version) for (version,) in ledger.execute("SELECT version FROM commits")]
    assert list(range(1, NUM_STEPS + 1)) == sorted({version.step for version in versions})
    # The one lineage that the killed trainer opened, which began at its checkpoint.
    assert {0, 1} == {version.lineage for version in versions}


def assert_nothing_lost(ledger: sqlite3.Connection, run: Command) -> None:
    """Check the conservation law, in the ledger and in the summary."""
    states = dict(ledger.execute("SELECT state, COUNT(*) FROM episode GROUP BY state").fetchall())
    assert set(states) <= {"trained", "evaluated", "dropped"}, states
    summary: dict[str, Any] = json.loads((run.run_folder / "summary.json").read_text())["episodes"]
    assert 0 == summary["in_flight"]
    assert summary["submitted"] == sum(states.values())
    assert summary["trained"] == states["trained"]
    assert 3 * 4 * 8 == summary["evaluated"] == states["evaluated"]


def assert_nothing_trained_twice(ledger: sqlite3.Connection) -> None:
    """Check that no episode is in more than one batch, and that every trained one is in a committed batch."""
    batches = [msgspec.msgpack.decode(body, type=Batch) for (body,) in ledger.execute("SELECT body FROM batch")]
    episodes = [s.episode for batch in batches for group in batch.groups for s in group.siblings]
    assert len(episodes) == len(set(episodes))
    trained = {number for (number,) in ledger.execute("SELECT episode FROM episode WHERE state = 'trained'")}
    assert trained == set(episodes)


def _stop_coordinator(run: Command) -> None:
    """Stop the coordinator for ten leases; nothing is to be leased anew because of it."""
    before = _retries(run)
    pid = run.processes()["coordinator"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    time.sleep(10 * LEASE_S)
    os.kill(pid, signal.SIGCONT)
    step = run.status()["step"]
    run.until(lambda status: status["step"] >= step + 2)
    assert before == _retries(run)
    assert 0 == run.status()["anomalies"].get("lease_expired", 0)


def _retries(run: Command) -> int:
    ledger = read_only(run.run_folder / "ledger.sqlite")
    (number,) = ledger.execute("SELECT COALESCE(SUM(retries), 0) FROM submission").fetchone()
    ledger.close()
    return int(number)


def _until_back(run: Command, name: str, num_lives: int) -> None:
    deadline = time.monotonic() + 60
    while len(run.processes()[name]["lives"]) < num_lives:
        assert run.process.poll() is None, run.output
        assert time.monotonic() < deadline, f"{name} did not come back"
        time.sleep(0.02)
