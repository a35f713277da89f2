"""Ctrl-C: once in order, twice at once; a drained run goes on where it was."""

import json
import os
import signal
import time
from collections.abc import Callable

import pytest
from real_run import Command, living

from assay.runtime.coordinator.ledger import read_only

pytestmark = pytest.mark.slow

STEPS = (
    "curriculum.stages.warmup.until=step >= 40",
    "curriculum.stages.learn.until=step >= 50",
    "eval.tasks=8",
    "trainer.checkpoint_every=10",
)


def test_drained_run_is_readable_and_goes_on(command: Callable[..., Command]) -> None:
    first = command("train", *STEPS)
    first.until(lambda status: status["step"] >= 12)
    first.process.send_signal(signal.SIGINT)
    assert 130 == first.wait(60), first.output
    assert "ending in order" in first.output
    assert [] == living(first.process.pid)
    folder = first.run_folder
    summary = json.loads((folder / "summary.json").read_text())
    assert 12 <= summary["updates"] < 40
    assert (folder / "report.html").exists()

    second = command("train", "resume=latest")
    assert 0 == second.wait(), second.output
    assert folder == second.run_folder
    assert [] == living(second.process.pid)
    after = json.loads((folder / "summary.json").read_text())
    assert 50 == after["updates"]
    assert 0 == after["episodes"]["in_flight"]
    assert after["wall_s"] > summary["wall_s"]
    assert after["first_update_s"] == summary["first_update_s"]
    # The drain left a checkpoint of its last step, so that no step was made twice.
    ledger = read_only(folder / "ledger.sqlite")
    assert (50,) == ledger.execute("SELECT COUNT(*) FROM commits").fetchone()


def test_second_interrupt_ends_at_once(command: Callable[..., Command]) -> None:
    run = command("train", *STEPS, "run.name=twice")
    run.until(lambda status: status["step"] >= 2)
    started_s = time.monotonic()
    run.process.send_signal(signal.SIGINT)
    run.process.send_signal(signal.SIGINT)
    while "ending in order" not in run.output:
        time.sleep(0.01)
    if run.process.poll() is None:
        # Two signals that are pending at the same time are delivered as one.
        run.process.send_signal(signal.SIGINT)
    assert 130 == run.wait(20), run.output
    assert time.monotonic() - started_s < 10
    assert [] == living(run.process.pid)
    assert (run.run_folder / "summary.json").exists()


def test_killed_command_leaves_no_process_and_a_run_that_goes_on(command: Callable[..., Command]) -> None:
    run = command("train", *STEPS, "run.name=killed")
    run.until(lambda status: status["step"] >= 12)
    assert len(living(run.process.pid)) >= 5
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    deadline = time.monotonic() + 10
    while living(run.process.pid):
        assert time.monotonic() < deadline, living(run.process.pid)
        time.sleep(0.02)

    again = command("train", "resume=latest")
    assert 0 == again.wait(), again.output
    summary = json.loads((run.run_folder / "summary.json").read_text())
    assert (50, 0) == (summary["updates"], summary["episodes"]["in_flight"])


def test_interrupt_before_the_run_listens_ends_it(command: Callable[..., Command]) -> None:
    run = command("train", *STEPS, "run.name=early")
    while not run.processes():
        assert run.process.poll() is None, run.output
        time.sleep(0.005)
    run.process.send_signal(signal.SIGINT)
    assert 130 == run.wait(60), run.output
    assert [] == living(run.process.pid)
    assert 0 == json.loads((run.run_folder / "summary.json").read_text())["episodes"]["in_flight"]


def test_run_belongs_to_one_command_and_a_closed_terminal_drains_it(command: Callable[..., Command]) -> None:
    # Long enough to be at work still when the other command has been refused.
    long = ("curriculum.stages.warmup.until=step >= 4000", "curriculum.stages.learn.until=step >= 4010")
    run = command("train", *STEPS, *long, "run.name=closed")
    run.until(lambda status: status["step"] >= 2)
    processes = run.processes()
    other = command("train", "resume=latest")
    assert 1 == other.wait(60), other.output
    assert "a run must be worked on by one command at a time" in other.output
    assert processes == run.processes()
    run.process.send_signal(signal.SIGHUP)
    assert 130 == run.wait(60), run.output
    assert [] == living(run.process.pid)
    assert (run.run_folder / "report.html").exists()
