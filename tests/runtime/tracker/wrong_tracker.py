"""Trackers that fail or hang, for processes that find this module by its name."""

import os
import time
from collections.abc import Mapping
from typing import Any

from assay.core.tracker import Event, Position, RunInfo, Step
from assay.runtime.tracker.jsonl import JsonlTracker


class Offline:
    """Never starts."""

    def start(self, run: RunInfo, last: Position) -> Position:
        raise ConnectionError("nobody listens there")


class Hanging(JsonlTracker):
    """Never comes back from a step."""

    def log(self, step: Step) -> None:
        time.sleep(600)


class Choking(JsonlTracker):
    """Is killed by its third step, once."""

    def start(self, run: RunInfo, last: Position) -> Position:
        self.mark = run.folder / "choked"
        return super().start(run, last)

    def log(self, step: Step) -> None:
        super().log(step)
        if step.version.step == 3 and not self.mark.exists():
            self.mark.touch()
            self.flush()
            os.kill(os.getpid(), 9)


class Deaf(JsonlTracker):
    """Takes everything but the end."""

    def event(self, event: Event) -> None:
        super().event(event)

    def finish(self, summary: Mapping[str, Any]) -> None:
        raise OSError("the end is near")
