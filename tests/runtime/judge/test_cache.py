"""A file of replies that is broken, or that somebody else holds, costs questions and never a run."""

import multiprocessing
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.judge import JudgeReply
from assay.runtime.judge.cache import Bill, ReplyCache, read_bill

REPLY = JudgeReply("Fine.", 3, 1, 0.25)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "judge.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[ReplyCache]:
    cache = ReplyCache(path)
    yield cache
    cache.close()


@pytest.mark.parametrize("data", [b"no database", b"SQLite format 3\0" + b"\xff" * 4080, bytes(4096)])
def test_broken_file_is_done_without(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    cache = ReplyCache(path)
    cache.put({"key": REPLY})
    assert REPLY == cache.get("key")
    cache.close()


def test_file_that_breaks_meanwhile_gives_no_reply(path: Path, cache: ReplyCache) -> None:
    cache.put({"key": REPLY})
    for file in path.parent.iterdir():
        file.write_bytes(b"\xff" * 100)
    other = ReplyCache(path)
    assert other.get("key") is None
    other.close()


def test_reply_that_nobody_can_read_is_none(path: Path, cache: ReplyCache) -> None:
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO reply VALUES ('key', x'c1')")
    db.close()
    assert cache.get("key") is None


def test_file_that_somebody_holds_is_waited_for_once(path: Path, cache: ReplyCache) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    started_s = time.monotonic()
    for number in range(300):
        cache.put({str(number): REPLY})
    assert time.monotonic() - started_s < 2.0
    holder.execute("ROLLBACK")
    holder.close()
    cache.put({"key": REPLY})
    assert (REPLY, None) == (cache.get("key"), cache.get("0"))


def test_bill_holds_every_reply_by_purpose_and_what_could_not_be_written_comes_later(
    path: Path, cache: ReplyCache
) -> None:
    cache.charge("preflight", 0.5)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    cache.charge("run", 0.25)
    assert {"preflight": Bill(1, 0.5)} == read_bill(path)
    holder.execute("ROLLBACK")
    holder.close()
    cache.charge("run", 1.0)
    assert {"preflight": Bill(1, 0.5), "run": Bill(2, 1.25)} == read_bill(path)


def test_bill_of_a_file_that_is_none_is_empty(tmp_path: Path) -> None:
    assert {} == read_bill(tmp_path / "none.sqlite")
    (tmp_path / "broken.sqlite").write_bytes(b"no database at all")
    assert {} == read_bill(tmp_path / "broken.sqlite")


@pytest.mark.slow
def test_processes_share_a_file(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_write, args=(path, name)) for name in "ab"]
    for other in others:
        other.start()
    for other in others:
        other.join(30.0)
    cache = ReplyCache(path)
    kept = sum(cache.get(f"{name}{number}") is not None for name in "ab" for number in range(50))
    cache.close()
    # One that another process keeps waiting for long goes on without.
    assert kept > 90


def _write(path: Path, name: str) -> None:
    cache = ReplyCache(path)
    for number in range(50):
        cache.put({f"{name}{number}": REPLY})
    cache.close()
