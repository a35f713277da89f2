"""A tracker follows its run: page by page from the ledger, until there is nothing left and the run is over."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.core.error import AssayError
from assay.core.tracker import Event, RunInfo, Step, Tracker
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import RunPlan
from assay.runtime.tracker.note import Note, note_path, read_note, write_note
from assay.runtime.tracker.stream import advance, read_page

IDLE_S = 0.5


def follow(tracker: Tracker, name: str, plan: RunPlan, folder: RunFolder, wait: Callable[[float], bool]) -> Note:
    """Tell a tracker everything that it was not told yet, then the summary.

    Args:
        tracker: Made, not started.
        name: Of the tracker.
        plan: Of the run.
        folder: Of the run.
        wait: Waits for so many seconds; whether the run is over, with its summary written.

    Returns:
        The last note, which is written after every flush.
    """
    path = note_path(folder.path, name)
    note = read_note(path)
    note = Note(tracker.start(run_info(plan, folder), note.position))
    write_note(path, note)
    is_over = False
    while True:
        page = _page(folder.ledger, note)
        if page:
            note = _tell(tracker, page, note)
            write_note(path, note)
        elif is_over:
            break
        else:
            is_over = wait(IDLE_S)
    tracker.finish(_summary(folder))
    note = Note(note.position, is_finished=True)
    write_note(path, note)
    return note


def run_info(plan: RunPlan, folder: RunFolder) -> RunInfo:
    """Return what a tracker is told at its start."""
    refs = [*plan.factories.values(), *(tracker.ref for tracker in plan.trackers.values())]
    for entry in plan.entries:
        refs += [*entry.leaves.values(), *entry.functions.values(), *(split.ref for split in entry.splits.values())]
    dists = dict(ref.split(":")[:2] for ref in refs if ref)
    return RunInfo(
        name=plan.name,
        folder=folder.path,
        digest=plan.digest,
        seed=plan.seed,
        domains={entry.name: entry.program.digest for entry in plan.entries},
        config=plan.settings,
        origins=_read(folder.path / "origins.json"),
        dists=dict(sorted(dists.items())),
    )


def _page(ledger: Path, note: Note) -> list[Step | Event]:
    """Return what is new; nothing where the ledger is not there yet, or is being written at this moment."""
    try:
        return read_page(ledger, note.position)
    except (AssayError, sqlite3.Error):
        return []


def _tell(tracker: Tracker, page: list[Step | Event], note: Note) -> Note:
    position = note.position
    for record in page:
        if isinstance(record, Step):
            tracker.log(record)
        else:
            tracker.event(record)
        position = advance(position, record)
    tracker.flush()
    return Note(position)


def _summary(folder: RunFolder) -> Mapping[str, Any]:
    return _read(folder.summary)


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found
