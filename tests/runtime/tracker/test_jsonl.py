"""The file of the tracker `jsonl`: whole lines, and what it says of itself."""

import json
from pathlib import Path

import pytest

from assay.core.error import ConfigError
from assay.core.tracker import Event, Position, Step
from assay.core.trajectory import WeightVersion
from assay.runtime.testing.tracker import run_info
from assay.runtime.tracker.jsonl import JsonlTracker, read_position


def write(folder: Path) -> Path:
    tracker = JsonlTracker()
    tracker.start(run_info(folder), Position())
    tracker.log(Step(WeightVersion(1, 4), 2.0, {"loss": 0.5}))
    tracker.event(Event(9, 2.5, "phase", "learn"))
    tracker.finish({"updates": 4})
    return folder / "track.jsonl"


def test_file_says_how_far_the_run_was_told(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert (Position(WeightVersion(1, 4).pack(), 9), path.stat().st_size) == read_position(path)
    assert (Position(), 0) == read_position(tmp_path / "none")


@pytest.mark.parametrize("torn", [b'{"kind": "step", "line', b"\x00\x00\xff", b'{"kind": "event", "number": 12}'])
def test_torn_line_is_cut_off_and_told_again(tmp_path: Path, torn: bytes) -> None:
    path = write(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    tracker = JsonlTracker()
    assert Position(WeightVersion(1, 4).pack(), 9) == tracker.start(run_info(tmp_path), Position())
    tracker.event(Event(10, 3.0, "phase", "end"))
    tracker.finish({})
    lines = path.read_bytes().splitlines(keepends=True)
    assert whole == b"".join(lines[:-2])
    assert ["event", "finish"] == [json.loads(line)["kind"] for line in lines[-2:]]


def test_first_line_is_the_run(tmp_path: Path) -> None:
    run = json.loads(write(tmp_path).read_text().splitlines()[0])
    assert ("run", "testing", {"spell": "cd" * 32}) == (run["kind"], run["name"], run["domains"])
    assert {"trainer.lr": "trainer/megatron.yaml:2"} == run["origins"]


def test_file_must_have_a_name() -> None:
    with pytest.raises(ConfigError, match="must name a file"):
        JsonlTracker("")
