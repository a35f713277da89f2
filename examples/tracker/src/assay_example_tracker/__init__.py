"""An Assay tracker: everything about all runs in one SQLite file.

A row is written once, because its key is that of what it holds: the file itself says how far a run was told.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import assay
from assay.core.leaf import Factory
from assay.core.tracker import Event, Position, RunInfo, Step

_SCHEMA = """
CREATE TABLE IF NOT EXISTS run (
    run TEXT PRIMARY KEY, name TEXT, digest TEXT, seed INTEGER, config TEXT, origins TEXT, dists TEXT, summary TEXT
);
CREATE TABLE IF NOT EXISTS step (run TEXT, version INTEGER, lineage INTEGER, step INTEGER, at_s REAL,
    PRIMARY KEY (run, version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS metric (run TEXT, version INTEGER, name TEXT, value REAL,
    PRIMARY KEY (run, version, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS event (run TEXT, number INTEGER, at_s REAL, what TEXT, detail TEXT, is_alarm INTEGER,
    figures TEXT, PRIMARY KEY (run, number)) WITHOUT ROWID;
"""


class SqliteTracker:
    """See `assay.core.tracker.Tracker`.

    Args:
        path: Of the file, from the run folder; the default is one file beside all runs.
        patience_s: How long to wait for another run that writes.
    """

    def __init__(self, path: str = "../experiments.sqlite", *, patience_s: float = 30.0) -> None:
        self._path, self._patience_s = path, patience_s
        self._run = ""
        self._db: Any = None

    def start(self, run: RunInfo, last: Position) -> Position:
        """Open the file; what it holds of this run is how far the run was told."""
        self._db = sqlite3.connect(run.folder / self._path, timeout=self._patience_s)
        self._db.executescript(_SCHEMA)
        self._run = str(run.folder)
        values = (self._run, run.name, run.digest, run.seed, *map(_text, (run.config, run.origins, run.dists)))
        self._db.execute("INSERT OR IGNORE INTO run VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", values)
        self._db.commit()
        return Position(self._last("MAX(version) FROM step", -1), self._last("MAX(number) FROM event", 0))

    def log(self, step: Step) -> None:
        """Write a step and its metrics; NaN is NULL in SQLite."""
        version = step.version.pack()
        row = (self._run, version, step.version.lineage, step.version.step, step.at_s)
        self._db.execute("INSERT INTO step VALUES (?, ?, ?, ?, ?)", row)
        rows = [(self._run, version, name, value) for name, value in step.metrics.items()]
        self._db.executemany("INSERT INTO metric VALUES (?, ?, ?, ?)", rows)

    def event(self, event: Event) -> None:
        """Write an event."""
        row = (event.number, event.at_s, event.what, event.detail, event.is_alarm, _text(event.figures))
        self._db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)", (self._run, *row))

    def flush(self) -> None:
        """Commit."""
        self._db.commit()

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write the summary and close."""
        self._db.execute("UPDATE run SET summary = ? WHERE run = ?", (_text(summary), self._run))
        self._db.commit()
        self._db.close()

    def _last(self, what: str, none: int) -> int:
        (found,) = self._db.execute(f"SELECT {what} WHERE run = ?", (self._run,)).fetchone()
        return none if found is None else int(found)


def _text(value: Any) -> str:
    return json.dumps(value)


SQLITE = Factory("sqlite", SqliteTracker, "Everything about all runs in one SQLite file.")


@assay.hookimpl
def assay_trackers() -> Sequence[Factory]:
    """Offer `sqlite`."""
    return (SQLITE,)


@assay.hookimpl
def assay_config_dirs() -> Sequence[str]:
    """Offer `conf/tracker/sqlite.yaml`."""
    return ("assay_example_tracker/conf",)
