"""Trackers in their processes: what fails is counted and shown, and nobody waits for it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.core.tracker import Position
from assay.runtime.launch.orphan import descendants
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import RunPlan
from assay.runtime.tracker import crew
from assay.runtime.tracker.crew import Crew
from assay.runtime.tracker.note import Note, note_path, read_note, write_note

pytestmark = pytest.mark.slow  # each tracker is an interpreter

KEYS = ["run", 1, (0, 1), (0, 2), 2, (0, 3), 3, "finish"]


MakeCrew = Callable[..., Crew]


@pytest.fixture
def made(folder: RunFolder, plan_of: Callable[..., RunPlan]) -> Iterator[MakeCrew]:
    """Makes and starts the trackers of a run; they end with the test."""
    crews: list[Crew] = []

    def make(*names: str, say: Callable[[str], None] = pytest.fail) -> Crew:
        crews.append(Crew(plan_of(*names).trackers, folder, say))
        crews[-1].start()
        return crews[-1]

    yield make
    for one in crews:
        one.end()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed trackers are started again at once."""
    monkeypatch.setattr(crew, "_BACKOFF_S", (0.0, 0.0, 0.0))


def told(folder: RunFolder) -> list[object]:
    records = [json.loads(line) for line in (folder.path / "track.jsonl").read_text().splitlines()]
    key = {"step": lambda one: (one["lineage"], one["step"]), "event": lambda one: one["number"]}
    return [key.get(one["kind"], lambda one: one["kind"])(one) for one in records]


def until(holds: Callable[[], bool], look: Callable[[], None]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        look()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_everything_and_the_summary_are_told_once(folder: RunFolder, made: MakeCrew) -> None:
    folder.summary.write_text('{"updates": 3}')
    one = made("jsonl")
    assert ["tracker jsonl: told up to step 0.3 and event 3"] == one.finish()
    assert KEYS == told(folder)
    last = json.loads((folder.path / "track.jsonl").read_text().splitlines()[-1])
    assert {"kind": "finish", "summary": {"updates": 3}} == last
    assert read_note(note_path(folder.path, "jsonl")).is_finished


def test_killed_tracker_goes_on_where_it_was(folder: RunFolder, made: MakeCrew) -> None:
    said: list[str] = []
    one = made("Choking", say=said.append)
    until(lambda: bool(said), one.tick)
    (line,) = one.finish()
    assert "tracker Choking: told up to step 0.3 and event 3, failed 1 times, the last with: exit status -9" == line
    assert KEYS == told(folder)


def test_failing_tracker_is_given_up_until_the_end_and_shown(made: MakeCrew) -> None:
    said: list[str] = []
    one = made("Offline", "jsonl", say=said.append)
    until(lambda: len(said) == 4, one.tick)
    assert (
        said[0] == "tracker Offline failed (1): ConnectionError: nobody listens there; next try in 0 s. The run goes on"
    )
    assert "no more tries before the end of the run. The run goes on" in said[-1]
    one.tick()
    assert 4 == len(said)
    offline, jsonl = one.finish()
    assert offline.startswith(
        "tracker Offline: told up to no step and event 0, failed 5 times, the last with: ConnectionError"
    )
    assert offline.endswith("tracker-Offline.log says more")
    assert "tracker jsonl: told up to step 0.3 and event 3" == jsonl


def test_hanging_tracker_is_ended_in_time(folder: RunFolder, made: MakeCrew) -> None:
    one = made("Hanging")
    started_s = time.monotonic()
    (line,) = one.finish(limit_s=0.5)
    assert time.monotonic() - started_s < 5
    assert "failed 1 times, the last with: not done 0.5 s after the run, not finished" in line
    assert [] == [
        pid for pid in descendants(os.getpid()) if b"runtime.tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def test_failing_end_is_counted(folder: RunFolder, made: MakeCrew) -> None:
    one = made("Deaf")
    (line,) = one.finish()
    assert (
        "tracker Deaf: told up to step 0.3 and event 3, failed 1 times, the last with: OSError: the end is near" in line
    )


def test_tracker_that_finished_a_former_part_is_not_taken_for_done(folder: RunFolder, made: MakeCrew) -> None:
    write_note(note_path(folder.path, "Offline"), Note(Position(2, 1), is_finished=True))
    one = made("Offline", say=lambda _: None)
    (line,) = one.finish()
    assert line.startswith("tracker Offline: told up to step 0.2 and event 1, failed 1 times"), line
    assert "not finished" in line


def test_tracker_that_waits_ends_with_its_command(folder: RunFolder, plan_of: Callable[..., RunPlan]) -> None:
    plan_of("jsonl")
    code = f"""
import sys
from pathlib import Path
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import read_plan
from assay.runtime.tracker.crew import Crew
folder = RunFolder(Path({str(folder.path)!r}))
one = Crew(read_plan(folder.path).trackers, folder, print)
one.start()
print(one._members[0].process.pid, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        until(lambda: (folder.path / "track.jsonl").exists() and told(folder) == KEYS[:-1], lambda: None)
        parent.send_signal(signal.SIGKILL)
    until(lambda: not Path(f"/proc/{pid}").exists() or _is_zombie(pid), lambda: None)
    assert KEYS[:-1] == told(folder)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
