"""Trackers that each break one clause; a module of its own, which another process finds."""

import json
from pathlib import Path

from assay.core.tracker import Event, Position, RunInfo, Step
from assay.runtime.tracker.jsonl import JsonlTracker


def told(folder: Path) -> list[tuple[int, int] | int]:
    """Return the keys of what stands in the file."""
    found: list[tuple[int, int] | int] = []
    for line in (folder / "track.jsonl").read_text().splitlines():
        one = json.loads(line)
        if one["kind"] == "step":
            found.append((one["lineage"], one["step"]))
        elif one["kind"] == "event":
            found.append(one["number"])
    return found


class Eager(JsonlTracker):
    """Opens when it is made."""

    def __init__(self) -> None:
        super().__init__()
        Path("opened").touch()


class Repeating(JsonlTracker):
    """Says everything twice."""

    def log(self, step: Step) -> None:
        super().log(step)
        super().log(step)


class Dull(JsonlTracker):
    """Knows steps by their number alone."""

    def start(self, run: RunInfo, last: Position) -> Position:
        self.seen: set[int] = set()
        return super().start(run, last)

    def log(self, step: Step) -> None:
        if step.version.step not in self.seen:
            self.seen.add(step.version.step)
            super().log(step)


class Narrow(JsonlTracker):
    """Drops what is no plain number."""

    def log(self, step: Step) -> None:
        if all(abs(value) < 1e9 for value in step.metrics.values()):
            super().log(step)


class Fresh(JsonlTracker):
    """Begins anew at every start."""

    def start(self, run: RunInfo, last: Position) -> Position:
        (run.folder / "track.jsonl").unlink(missing_ok=True)
        return super().start(run, last)


class Buffering(JsonlTracker):
    """Flushes when it is finished."""

    def flush(self) -> None:
        pass

    def finish(self, summary: object) -> None:
        super().flush()
        self._file.close()  # type: ignore[union-attr]

    def start(self, run: RunInfo, last: Position) -> Position:
        super().start(run, last)
        return last


class Stateless(JsonlTracker):
    """Goes on where it was flushed, whatever arrived since."""

    def start(self, run: RunInfo, last: Position) -> Position:
        super().start(run, last)
        return last

    def log(self, step: Step) -> None:
        super().log(step)
        self.flush()

    def event(self, event: Event) -> None:
        super().event(event)
        self.flush()
