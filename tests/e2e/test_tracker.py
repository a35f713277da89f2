"""A real run with a tracker: everything is told once, whatever is killed, and a tracker that fails ends nothing."""

import json
import os
import signal
from collections.abc import Callable

import pytest
from real_run import SMALL, Command, living

from assay.core.trajectory import WeightVersion
from assay.runtime.coordinator.ledger import read_only

pytestmark = pytest.mark.slow


def test_tracker_is_told_everything_once_over_a_kill_of_the_whole_run(command: Callable[..., Command]) -> None:
    one = command("train", "tracker=jsonl", *SMALL)
    one.until(lambda status: status["step"] >= 12)
    os.kill(one.process.pid, signal.SIGKILL)
    one.process.wait()
    folder = one.run_folder
    again = command("train", "resume=latest")
    assert 0 == again.wait(), again.output
    assert [] == living(again.process.pid)
    records = [json.loads(line) for line in (folder / "track.jsonl").read_text().splitlines()]
    ledger = read_only(folder / "ledger.sqlite")
    commits = [version for (version,) in ledger.execute("SELECT version FROM commits ORDER BY version")]
    events = [number for (number,) in ledger.execute("SELECT n FROM log ORDER BY n")]
    steps = [WeightVersion(record["lineage"], record["step"]) for record in records if record["kind"] == "step"]
    assert commits == [version.pack() for version in steps]
    assert len(steps) > 36  # those after the checkpoint were made twice, in two lineages
    assert events == [record["number"] for record in records if record["kind"] == "event"]
    assert ["run", "finish"] == [record["kind"] for record in records if record["kind"] in ("run", "finish")]
    summary = json.loads((folder / "summary.json").read_text())
    assert summary == records[-1]["summary"]
    said = f"tracker jsonl: told up to step {steps[-1]} and event {events[-1]}"
    assert said in again.output.splitlines()
    run = records[0]
    assert ("curriculum.stages.warmup.until", "<override 2>") in run["origins"].items()
    assert {"spell", "caesar", "spiral", "sort"} == set(run["domains"])


def test_tracker_that_fails_is_shown_and_ends_nothing(command: Callable[..., Command]) -> None:
    one = command("train", "tracker=jsonl", "tracker.path=/dev/null/track.jsonl", *SMALL)
    assert 0 == one.wait(), one.output
    assert "tracker jsonl failed (1): FileExistsError" in one.output
    assert "The run goes on" in one.output
    last = one.output.splitlines()[-1]
    assert last.startswith("tracker jsonl: told up to no step and event 0, failed "), last
    assert 36 == json.loads((one.run_folder / "summary.json").read_text())["updates"]
