"""Where new verdicts go: a file of their own beside the ledger, one per regrade, never written again.

The ledger is not touched. A file is complete or absent: it gets its name once all of it is on disk, and a name that is
taken is never given twice.
"""

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.core.error import StoreError
from assay.core.verdict import Scored, Verdict
from assay.dsl.change import Effect
from assay.dsl.program import Program, print_program

if TYPE_CHECKING:
    from assay.runtime.review.override import Override

FOLDER = "regrades"
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE program (           -- of each entry that was regraded
    entry TEXT PRIMARY KEY,
    before TEXT NOT NULL,        -- digest of the program that graded the ledger
    after TEXT NOT NULL,         -- digest of the edited one
    body TEXT NOT NULL           -- JSON of the edited one
) WITHOUT ROWID;
CREATE TABLE verdict (           -- of each episode that was reduced or regraded; all others keep that of the ledger
    episode INTEGER PRIMARY KEY, -- as in the ledger
    effect TEXT NOT NULL,        -- REDUCE | REGRADE
    reward REAL,                 -- NULL where unscored, never 0 for it
    success INTEGER,
    terms TEXT,                  -- JSON: section.name -> value
    verdict TEXT NOT NULL        -- JSON of core.verdict.Verdict
);
CREATE TABLE override (          -- what people put in place of what was measured
    episode INTEGER NOT NULL,
    what TEXT NOT NULL,          -- success | verifier.mark
    before REAL,                 -- NULL where it had not been measured
    after REAL NOT NULL,
    reason TEXT NOT NULL,        -- who marked it
    PRIMARY KEY (episode, what)
) WITHOUT ROWID;
"""


class Archive:
    """A regrade in the making; gone unless it is kept.

    Args:
        run: Folder of the run.

    Raises:
        StoreError: it cannot be written.
    """

    def __init__(self, run: Path) -> None:
        self._folder = run / FOLDER
        self._draft = self._folder / f".draft-{os.getpid()}.sqlite"
        try:
            self._folder.mkdir(exist_ok=True)
            self._draft.unlink(missing_ok=True)
            self._db = sqlite3.connect(self._draft, isolation_level=None)
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(_SCHEMA)
            self._db.execute("BEGIN")
        except (OSError, sqlite3.Error) as error:
            raise StoreError("a run folder must be writable", got=error, at=self._folder) from None

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()
        self._draft.unlink(missing_ok=True)

    def add_program(self, entry: str, before: Program, after: Program) -> None:
        """Add the programs of an entry."""
        row = (entry, before.digest, after.digest, print_program(after).decode())
        self._db.execute("INSERT INTO program VALUES (?, ?, ?, ?)", row)

    def add(self, effect: Effect, verdicts: Iterable[tuple[int, Verdict]]) -> None:
        """Add verdicts by episode."""
        rows = (_row(episode, effect, verdict) for episode, verdict in verdicts)
        self._db.executemany("INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?)", rows)

    def override(self, verdict: Verdict, overrides: Iterable["Override"]) -> None:
        """Put a verdict in place of one that was added, or of the ledger's, with the reasons."""
        for one in overrides:
            row = _row(one.episode, "REDUCE", verdict)
            self._db.execute("INSERT OR REPLACE INTO verdict VALUES (?, ?, ?, ?, ?, ?)", row)
            told = (one.episode, one.what, one.before, one.after, one.reason)
            self._db.execute("INSERT INTO override VALUES (?, ?, ?, ?, ?)", told)

    def verdicts(self) -> dict[int, Verdict]:
        """Return what was added so far, by episode."""
        rows = self._db.execute("SELECT episode, verdict FROM verdict")
        return {number: msgspec.json.decode(text, type=Verdict) for number, text in rows}

    def keep(self, meta: dict[str, Any]) -> Path:
        """Make the file stay; returns where it is.

        Raises:
            StoreError: the disk is full or failing.
        """
        try:
            rows = [(name, msgspec.json.encode(value).decode()) for name, value in meta.items()]
            self._db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
            self._db.execute("COMMIT")
            self._db.close()
            return self._name()
        except (OSError, sqlite3.Error) as error:
            raise StoreError("a regrade must be written whole", got=error, at=self._folder) from None

    def _name(self) -> Path:
        number = max((int(path.stem) for path in self._folder.glob("[0-9]*.sqlite")), default=0)
        while True:
            number += 1
            path = self._folder / f"{number:04d}.sqlite"
            try:
                os.link(self._draft, path)
            except FileExistsError:
                continue
            descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            return path


def _row(episode: int, effect: Effect, verdict: Verdict) -> tuple[Any, ...]:
    told: tuple[Any, ...] = (None, None, None)
    if isinstance(verdict, Scored):
        payout = verdict.payout
        told = (payout.reward, payout.success, msgspec.json.encode(payout.terms).decode())
    return (episode, effect, *told, msgspec.json.encode(verdict).decode())
