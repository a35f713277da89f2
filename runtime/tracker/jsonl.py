"""The tracker `jsonl`: one file with a line for the run, each step, each event and each end.

The file itself says how far the run was told, so that every record stands in it once, whatever is killed.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from assay.core.error import ConfigError
from assay.core.tracker import Event, Position, RunInfo, Step
from assay.core.trajectory import WeightVersion


class JsonlTracker:
    """See `assay.core.tracker.Tracker`.

    Args:
        path: Of the file, from the run folder.

    Raises:
        ConfigError: the path is empty.
    """

    def __init__(self, path: str = "track.jsonl") -> None:
        if not path:
            raise ConfigError("tracker.path must name a file", got="an empty one")
        self._path = path
        self._file: BinaryIO | None = None

    def start(self, run: RunInfo, last: Position) -> Position:
        """See `Tracker`; a line that a kill tore is cut off."""
        path = run.folder / self._path
        path.parent.mkdir(parents=True, exist_ok=True)
        position, end = read_position(path)
        self._file = path.open("r+b" if path.exists() else "w+b")
        self._file.truncate(end)
        self._file.seek(end)
        if end == 0:
            self._write("run", msgspec.to_builtins(run, enc_hook=str))
            self.flush()
        return position

    def log(self, step: Step) -> None:
        """See `Tracker`."""
        at = {"lineage": step.version.lineage, "step": step.version.step, "at_s": step.at_s}
        self._write("step", {**at, "metrics": step.metrics})

    def event(self, event: Event) -> None:
        """See `Tracker`."""
        self._write("event", msgspec.to_builtins(event))

    def flush(self) -> None:
        """See `Tracker`; it survives a power cut too."""
        assert self._file is not None
        self._file.flush()
        os.fdatasync(self._file.fileno())

    def finish(self, summary: Mapping[str, Any]) -> None:
        """See `Tracker`."""
        self._write("finish", {"summary": summary})
        self.flush()
        assert self._file is not None
        self._file.close()

    def _write(self, kind: str, content: Mapping[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps({"kind": kind, **content}).encode() + b"\n")


def read_position(path: Path) -> tuple[Position, int]:
    """Return how far the run was told, and the length of the whole lines."""
    version, event, end = -1, 0, 0
    if not path.exists():
        return Position(), 0
    with path.open("rb") as file:
        for line in file:
            try:
                record = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                record = None
            if record is None:
                break
            end += len(line)
            if record["kind"] == "step":
                version = WeightVersion(record["lineage"], record["step"]).pack()
            elif record["kind"] == "event":
                event = record["number"]
    return Position(version, event), end
