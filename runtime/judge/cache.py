"""Replies that were paid for once: kept in the run folder, under everything that determines them.

A key is the digest of the judge's registered name, its identity (address), the verifier that asks with its version, and
the whole request: model, messages, sampling, seed, sample and attempt. A changed rubric or model is another key.

What is kept are replies of verifications that ended well, so that a reply nobody could read is asked for anew.
"""

import contextlib
import sqlite3
from pathlib import Path

import msgspec

from assay.core.digest import digest
from assay.core.judge import JudgeReply, JudgeRequest

_MAKE = "CREATE TABLE IF NOT EXISTS reply (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"


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
        self._db = sqlite3.connect(":memory:" if path is None else path, timeout=30.0, isolation_level=None)
        # A lost reply costs one question; a fsync per reply would cost more.
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute(_MAKE)

    def get(self, key: str) -> JudgeReply | None:
        """Return a reply, or None."""
        row = self._db.execute("SELECT value FROM reply WHERE key = ?", (key,)).fetchone()
        return None if row is None else msgspec.msgpack.decode(row[0], type=JudgeReply)

    def put(self, replies: dict[str, JudgeReply]) -> None:
        """Keep replies; one that cannot be written is asked for again some day."""
        rows = [(key, msgspec.msgpack.encode(reply)) for key, reply in replies.items()]
        with contextlib.suppress(sqlite3.OperationalError):
            self._db.executemany("INSERT OR REPLACE INTO reply VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        self._db.close()
