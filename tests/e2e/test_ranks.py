"""Two data-parallel trainer ranks: each reads its own blobs, and the loss of one restarts both."""

import json
import os
import signal
import time
from collections.abc import Callable

import pytest
from real_run import Command, living
from test_crash import assert_nothing_trained_twice

from assay.runtime.coordinator.ledger import read_only

pytestmark = pytest.mark.slow

STEPS = (
    "launcher.trainers=2",
    "curriculum.stages.warmup.until=step >= 30",
    "curriculum.stages.learn.until=step >= 34",
    "eval.tasks=8",
    "trainer.checkpoint_every=5",
)


def test_lost_rank_restarts_the_group_and_the_run_goes_on(command: Callable[..., Command]) -> None:
    run = command("train", *STEPS)
    run.until(lambda status: status["step"] >= 12)
    killed_s = time.time()
    os.kill(run.processes()["update-1"]["pid"], signal.SIGKILL)
    assert 0 == run.wait(), run.output
    assert [] == living(run.process.pid)

    ranks = {name: one["lives"] for name, one in run.processes().items() if one["role"] == "update"}
    assert {"update-0": 2, "update-1": 2} == {name: len(lives) for name, lives in ranks.items()}
    for lives in ranks.values():
        assert lives[1]["started_at"] - killed_s < 10
        assert 0 == lives[1]["exit"]
    ledger = read_only(run.run_folder / "ledger.sqlite")
    assert_nothing_trained_twice(ledger)
    summary = json.loads((run.run_folder / "summary.json").read_text())
    assert 34 == summary["updates"]
    assert 4 * 32 * 8 == summary["episodes"]["trained"]
    # Both ranks learned from the same first batch: a fresh policy's loss falls at once.
    steps = [json.loads(line) for line in (run.run_folder / "metrics.jsonl").read_text().splitlines()]
    losses = {step["step"]: step["loss"] for step in steps}
    assert losses[30] < 0.5 * losses[1]
    # Rank 0 alone can be asked for log-probs; the engine agrees with it.
    gaps = [step["probe_gap"] for step in steps if "probe_gap" in step and step["step"] > 31]
    assert gaps
    assert max(gaps) < 1e-4
