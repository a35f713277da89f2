"""Replies that were paid for once: kept in the run folder, under everything that determines them.

A key is the digest of the judge's registered name, its identity (address), the verifier that asks with its version, and
the whole request: model, messages, sampling, seed, sample and attempt. A changed rubric or model is another key.

What is kept are replies of verifications that ended well, so that a reply nobody could read is asked for anew. Beside
them stands the bill: every reply that was paid for, at once, whatever came of it afterwards.
"""

import contextlib
import math
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.core.digest import digest
from assay.core.judge import JudgeReply, JudgeRequest

_BUSY_S = 5.0
# All questions wait while one waits for the file; who holds it for longer holds it for long.
_LOCKED_S = 0.25
_REST_S = 10.0
_MAKE = (
    "CREATE TABLE IF NOT EXISTS reply (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS bill (purpose TEXT PRIMARY KEY, calls INTEGER NOT NULL, usd REAL NOT NULL)",
)
_CHARGE = (
    "INSERT INTO bill VALUES (?, ?, ?)"
    " ON CONFLICT (purpose) DO UPDATE SET calls = calls + excluded.calls, usd = usd + excluded.usd"
)


class Bill(msgspec.Struct, frozen=True):
    """Replies that were paid for, and what they cost."""

    calls: int = 0
    cost_usd: float = 0.0


def reply_key(judge: str, identity: str, verifier: str, version: int, request: JudgeRequest) -> str:
    """Return the name under which a reply is kept.

    Args:
        judge: Reference of the factory.
        identity: What the judge says determines its replies.
        verifier: Reference of the verifier that asks.
        version: The verifier's own version.
        request: The question.
    """
    return digest([judge, identity, verifier, version, request])


class ReplyCache:
    """Replies by key; several processes may share a file. Used in one thread.

    Args:
        path: Of an SQLite file, made where it is missing; None keeps replies in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self._rests_until_s = -math.inf
        self._due: dict[str, Bill] = {}
        try:
            self._db = _open(path)
        except sqlite3.DatabaseError:
            # A folder that cannot be written, a full disk, a broken file: what is asked is asked all the same.
            self._db = _open(None)

    def get(self, key: str) -> JudgeReply | None:
        """Return a reply; None where there is none, or none that can be read."""
        with self._patient(), contextlib.suppress(msgspec.MsgspecError):
            row = self._db.execute("SELECT value FROM reply WHERE key = ?", (key,)).fetchone()
            return None if row is None else msgspec.msgpack.decode(row[0], type=JudgeReply)
        return None

    def put(self, replies: dict[str, JudgeReply]) -> None:
        """Keep replies; one that cannot be written is asked for again some day."""
        rows = [(key, msgspec.msgpack.encode(reply)) for key, reply in replies.items()]
        with self._patient():
            self._db.executemany("INSERT OR REPLACE INTO reply VALUES (?, ?)", rows)

    def charge(self, purpose: str, cost_usd: float) -> None:
        """Put a reply on the bill; where the file cannot be written, with the next."""
        due = self._due.get(purpose, Bill())
        self._due[purpose] = Bill(due.calls + 1, due.cost_usd + cost_usd)
        self._settle()

    def close(self) -> None:
        """Close the file."""
        self._settle()
        self._db.close()

    def _settle(self) -> None:
        for purpose, due in list(self._due.items()):
            with self._patient():
                self._db.execute(_CHARGE, (purpose, due.calls, due.cost_usd))
                del self._due[purpose]

    @contextlib.contextmanager
    def _patient(self) -> Iterator[None]:
        """Go on without a file that cannot be used; one that could not be used lately is not waited for."""
        is_resting = time.monotonic() < self._rests_until_s
        try:
            self._db.execute(f"PRAGMA busy_timeout = {0 if is_resting else round(_LOCKED_S * 1000)}")
            yield
            self._rests_until_s = -math.inf
        except sqlite3.Error:
            if not is_resting:
                self._rests_until_s = time.monotonic() + _REST_S


def read_bill(path: Path) -> dict[str, Bill]:
    """Return what was paid, by purpose; nothing where there is no file, or none that can be read."""
    if path.exists():
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path, timeout=_BUSY_S)) as db:
            rows = db.execute("SELECT purpose, calls, usd FROM bill").fetchall()
            return {purpose: Bill(calls, usd) for purpose, calls, usd in rows}
    return {}


def _open(path: Path | None) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:" if path is None else path, timeout=_BUSY_S, isolation_level=None)
    try:
        _prepare(db)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection) -> None:
    until = time.monotonic() + _BUSY_S
    while True:
        try:
            # SQLite does not wait for another process that changes the mode at the same time.
            db.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
    # A lost reply costs one question; a fsync per reply would cost more.
    db.execute("PRAGMA synchronous = OFF")
    for statement in _MAKE:
        db.execute(statement)
