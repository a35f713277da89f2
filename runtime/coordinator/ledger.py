"""The ledger: one SQLite file, one transaction per drain.

WAL with `synchronous=FULL`: what `commit` returned from survives a power cut, and only after it are results
acknowledged. One process writes; any number may read, also while the run goes on. The tables are in `schema.sql`.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from assay.core.error import StoreError
from assay.runtime.coordinator.instruction import Statement, Write

SCHEMA = 1
# In the order they run, whatever the order within a drain: a lost rollout goes before the one that replaces it.
STATEMENTS: dict[Statement, str] = {
    "meta": "INSERT OR REPLACE INTO meta VALUES (?, ?)",
    "task": "INSERT OR REPLACE INTO task VALUES (?, ?, ?, ?, ?, ?, ?)",
    "grp": "INSERT OR REPLACE INTO grp VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "planned": "INSERT INTO submission (episode, grp, sibling, seed, planned_s) VALUES (?, ?, ?, ?, ?)",
    "lost": "DELETE FROM rollout WHERE episode = ?",
    "rolled": "INSERT OR REPLACE INTO rollout VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "verdict": "INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?)",
    "state": "UPDATE submission SET ended = ?, reason = ?, retries = ? WHERE episode = ?",
    "batch": "INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?)",
    "commits": "INSERT INTO commits VALUES (?, ?, ?, ?, ?, ?)",
    "checkpoint": "INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?)",
    "weights": "INSERT OR REPLACE INTO weights VALUES (?, ?, ?, ?)",
    "quarantine": "INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?, ?, ?, ?)",
    "evaluation": "INSERT OR REPLACE INTO evaluation VALUES (?, ?, ?, ?)",
    "log": "INSERT INTO log (at_s, what, detail) VALUES (?, ?, ?)",
}


class Ledger:
    """The writer's handle.

    Args:
        path: The file; made where it is absent.
        plan_digest: Of the run; a ledger of another plan is refused.

    Attributes:
        incarnation: Counts the times this file was opened for writing, from 0.

    Raises:
        StoreError: the file is no ledger of this plan and edition, or cannot be written.
    """

    def __init__(self, path: Path, plan_digest: str) -> None:
        self.path = path
        try:
            self._db = sqlite3.connect(path, isolation_level=None, cached_statements=64)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA busy_timeout = 5000")
            # In one transaction: a reader finds all tables or no ledger.
            schema = (Path(__file__).parent / "schema.sql").read_text()
            self._db.executescript(f"BEGIN IMMEDIATE; {schema} COMMIT;")
            if not has_answers(self._db):
                self._db.execute("ALTER TABLE rollout ADD COLUMN answer INTEGER NOT NULL DEFAULT 0")
            self.incarnation = self._open(plan_digest)
        except sqlite3.Error as error:
            raise StoreError("the ledger must be a writable SQLite file", got=error, at=path) from None

    def _open(self, plan_digest: str) -> int:
        found = self.meta("plan")
        if found is not None and found != plan_digest.encode():
            raise StoreError(
                "a ledger must belong to the plan that resumes it",
                got=found.decode()[:16],
                at=self.path,
                todo=f"This plan is {plan_digest[:16]}: start a new run, or undo the change",
            )
        before = self.meta("incarnation")
        incarnation = 0 if before is None else int(before) + 1
        rows = (
            ("plan", plan_digest.encode()),
            ("schema", str(SCHEMA).encode()),
            ("incarnation", str(incarnation).encode()),
        )
        self.commit(Write("meta", row) for row in rows)
        return incarnation

    def commit(self, writes: Iterable[Write]) -> int:
        """Write rows in one transaction that survives a power cut; returns how many there were.

        Raises:
            StoreError: the disk is full or failing; nothing of the transaction is kept.
        """
        by_statement: dict[Statement, list[tuple[Any, ...]]] = {}
        for write in writes:
            by_statement.setdefault(write.statement, []).append(write.row)
        if not by_statement:
            return 0
        execute = self._db.execute
        try:
            execute("BEGIN IMMEDIATE")
            for statement, sql in STATEMENTS.items():
                rows = by_statement.get(statement)
                if rows is None:
                    continue
                if len(rows) == 1:
                    execute(sql, rows[0])
                else:
                    self._db.executemany(sql, rows)
            execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                execute("ROLLBACK")
            raise StoreError("the ledger must take every row", got=error, at=self.path) from error
        return sum(map(len, by_statement.values()))

    def meta(self, name: str) -> bytes | None:
        """Return a value of the table `meta`."""
        row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query."""
        yield from self._db.execute(sql, values)

    def close(self) -> None:
        """Close the file; what was committed stays."""
        self._db.close()


def has_answers(db: sqlite3.Connection) -> bool:
    """Whether a ledger holds the digests of answers; earlier ones do not."""
    return any(row[1] == "answer" for row in db.execute("PRAGMA table_info(rollout)"))


def read_only(path: Path) -> sqlite3.Connection:
    """Open a ledger for reading, also while its run goes on.

    Raises:
        StoreError: there is no ledger.
    """
    try:
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        db.execute("SELECT COUNT(*) FROM meta").fetchone()
    except sqlite3.Error as error:
        raise StoreError("a run folder must hold a readable ledger", got=error, at=path) from None
    return db
