"""The tracker keeps the contract of trackers."""

import sqlite3
from contextlib import closing
from pathlib import Path

from assay_example_tracker import SQLITE

from assay.testing import TrackerContract


def told(folder: Path) -> list[tuple[int, int] | int]:
    """Return the keys of what the file holds of a run."""
    with closing(sqlite3.connect(folder / "../all.sqlite")) as db:
        run = (str(folder),)
        steps = db.execute("SELECT lineage, step FROM step WHERE run = ? ORDER BY version", run).fetchall()
        events = db.execute("SELECT number FROM event WHERE run = ? ORDER BY number", run).fetchall()
    return [*steps, *(number for (number,) in events)]


TestSqlite = TrackerContract.of(SQLITE, told=told, options={"path": "../all.sqlite"})
