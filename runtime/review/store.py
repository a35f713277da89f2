"""`review.sqlite` of a run: what people are asked and what they said.

WAL with `synchronous=FULL`: a mark that was taken survives a power cut. Any number of `assay review` and of verify
workers write at the same time; each call is one transaction. The ledger is never touched.

Invariants: one kept mark per reviewer, episode and matter; an undone mark stays on record.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from assay.core.error import StoreError
from assay.runtime.review.question import Question

FILE = "review.sqlite"
# A reviewer who was shown something keeps it to himself for so long; a process that has ended loses it at once.
_CLAIM_S = 3600.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS question (  -- what verifiers of the tier human ask
    episode INTEGER NOT NULL,
    id TEXT NOT NULL,                  -- Question.id
    verify TEXT NOT NULL,              -- name in the domain
    text TEXT NOT NULL,
    low REAL NOT NULL,
    high REAL NOT NULL,
    origin TEXT NOT NULL,              -- run | regrade: who waits for the answer
    asked_s REAL NOT NULL,             -- seconds of the epoch
    PRIMARY KEY (episode, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mark (
    n INTEGER PRIMARY KEY,
    reviewer TEXT NOT NULL,
    episode INTEGER NOT NULL,
    about TEXT NOT NULL,               -- Question.id, `success` or `verifier.signal`
    value REAL,                        -- in [0, 1]; NULL where the reviewer passed it over
    chosen TEXT NOT NULL,              -- question | sample | dispute: why it was shown
    note TEXT NOT NULL,
    marked_s REAL NOT NULL,            -- seconds of the epoch
    took_s REAL NOT NULL,              -- how long it was looked at
    is_undone INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX IF NOT EXISTS mark_once ON mark (reviewer, episode, about) WHERE is_undone = 0;
CREATE INDEX IF NOT EXISTS mark_of ON mark (episode, about);
CREATE TABLE IF NOT EXISTS claim (     -- what is on somebody's screen
    episode INTEGER NOT NULL,
    about TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    pid INTEGER NOT NULL,
    since_s REAL NOT NULL,
    PRIMARY KEY (episode, about, reviewer)
) WITHOUT ROWID;
"""
_MARK = "n, reviewer, episode, about, value, chosen, note, marked_s, took_s"


class Asked(msgspec.Struct, frozen=True):
    """A question in the queue."""

    episode: int
    id: str
    verify: str
    text: str
    low: float
    high: float
    origin: str


class Mark(msgspec.Struct, frozen=True):
    """What one reviewer said of one episode; see the columns of `mark`."""

    n: int
    reviewer: str
    episode: int
    about: str
    value: float | None
    chosen: str
    note: str = ""
    marked_s: float = 0.0
    took_s: float = 0.0


class ReviewStore:
    """A handle of one process.

    Args:
        run: Folder of the run.
        should_make: Make the file where it is absent; False for who only reads.
        wait_s: How long another writer is waited for.

    Raises:
        StoreError: it is not there, or cannot be written.
    """

    def __init__(self, run: Path, *, should_make: bool = True, wait_s: float = 30.0) -> None:
        self.path = run / FILE
        with self._told():
            if not should_make and not self.path.exists():
                raise StoreError("a run must have marks", got="none", at=self.path, todo="`assay review` makes some")
            self._db = sqlite3.connect(self.path, isolation_level=None, timeout=wait_s)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            if should_make:
                self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")

    def __enter__(self) -> "ReviewStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def version(self) -> int:
        """Return a number that changes when another process has written."""
        with self._told():
            return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def ask(self, episode: int, verify: str, question: Question, origin: str) -> None:
        """Put a question; one that is there already is the same one."""
        row = (episode, question.id, verify, question.text, question.low, question.high, origin, time.time())
        with self._told():
            self._db.execute("INSERT OR IGNORE INTO question VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def questions(self) -> list[Asked]:
        """Return all questions, in the order they were put."""
        with self._told():
            rows = self._db.execute(
                "SELECT episode, id, verify, text, low, high, origin FROM question ORDER BY asked_s"
            )
            return [Asked(*row) for row in rows]

    def answer(self, episode: int, question: str) -> float | None:
        """Return the first mark that answers a question; None where nobody has."""
        sql = (
            "SELECT value FROM mark WHERE episode = ? AND about = ? AND value IS NOT NULL AND NOT is_undone ORDER BY n"
        )
        with self._told():
            row = self._db.execute(sql, (episode, question)).fetchone()
        return None if row is None else float(row[0])

    def marks(self, *, with_passed: bool = False) -> list[Mark]:
        """Return the kept marks in order; those that were passed over only where asked for."""
        sql = f"SELECT {_MARK} FROM mark WHERE NOT is_undone" + ("" if with_passed else " AND value IS NOT NULL")
        with self._told():
            return [Mark(*row) for row in self._db.execute(f"{sql} ORDER BY n")]

    def keep(self, mark: Mark) -> bool:
        """Keep a mark and let go of its claim; False where this reviewer has marked it elsewhere meanwhile."""
        row = (mark.reviewer, mark.episode, mark.about, mark.value, mark.chosen, mark.note, time.time(), mark.took_s)
        sql = "INSERT OR IGNORE INTO mark (reviewer, episode, about, value, chosen, note, marked_s, took_s)"
        with self._told(), self._transaction():
            count = self._db.execute(f"{sql} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row).rowcount
            self._release(mark.episode, mark.about, mark.reviewer)
        return count == 1

    def undo(self, reviewer: str) -> Mark | None:
        """Take back the last mark of a reviewer, or what he passed over; None where there is none."""
        with self._told(), self._transaction():
            sql = f"SELECT {_MARK} FROM mark WHERE reviewer = ? AND NOT is_undone ORDER BY n DESC LIMIT 1"
            row = self._db.execute(sql, (reviewer,)).fetchone()
            if row is None:
                return None
            self._db.execute("UPDATE mark SET is_undone = 1 WHERE n = ?", (row[0],))
        return Mark(*row)

    def claim(self, reviewer: str, wanted: Sequence[tuple[int, str, int]]) -> tuple[int, str] | None:
        """Take the first item that is still to be had, so that nobody else is shown it.

        Args:
            reviewer: Who wants one; never gets what he has marked or passed over.
            wanted: Episode, matter, and how many reviewers it is for, in order.
        """
        now_s = time.time()
        with self._told(), self._transaction():
            marked: dict[tuple[int, str], set[str]] = {}
            passed: set[tuple[int, str]] = set()
            for episode, about, who, value in self._db.execute(
                "SELECT episode, about, reviewer, value FROM mark WHERE NOT is_undone"
            ):
                if value is not None:
                    marked.setdefault((episode, about), set()).add(who)
                if who == reviewer:
                    passed.add((episode, about))
            for episode, about, who, pid, since_s in self._db.execute("SELECT * FROM claim").fetchall():
                if now_s - since_s > _CLAIM_S or not _is_alive(pid):
                    self._release(episode, about, who)
                elif pid != os.getpid():
                    # Also another window of the same reviewer.
                    marked.setdefault((episode, about), set()).add(f"{who} in {pid}" if who == reviewer else who)
                    if who == reviewer:
                        passed.add((episode, about))
            for episode, about, count in wanted:
                if (episode, about) not in passed and len(marked.get((episode, about), ())) < count:
                    row = (episode, about, reviewer, os.getpid(), now_s)
                    self._db.execute("INSERT OR REPLACE INTO claim VALUES (?, ?, ?, ?, ?)", row)
                    return episode, about
        return None

    def release(self, reviewer: str) -> None:
        """Let go of what this process was shown."""
        with self._told():
            self._db.execute("DELETE FROM claim WHERE reviewer = ? AND pid = ?", (reviewer, os.getpid()))

    def _release(self, episode: int, about: str, reviewer: str) -> None:
        sql = "DELETE FROM claim WHERE episode = ? AND about = ? AND reviewer = ?"
        self._db.execute(sql, (episode, about, reviewer))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # A full disk has ended it already; what is told is why.
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            todo = "Marks that are kept stay: once the file can be written, `assay review` goes on"
            if not isinstance(error, sqlite3.OperationalError):
                todo = "It is damaged: save what you can with `sqlite3 review.sqlite .recover`, or move it away"
            raise StoreError("marks must be in a writable SQLite file", got=error, at=self.path, todo=todo) from None


def read_marks(run: Path) -> list[Mark]:
    """Return the kept marks of a run.

    Raises:
        StoreError: there are none.
    """
    with ReviewStore(run, should_make=False) as store:
        return store.marks()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
