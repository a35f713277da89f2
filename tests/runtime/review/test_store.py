"""Marks stay, whoever writes beside and whatever is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.error import StoreError
from assay.runtime.review.question import Question
from assay.runtime.review.store import Mark, ReviewStore

ITEMS = [(episode, "success", 1) for episode in range(200)]

MARKER = """
import sys
from pathlib import Path
from assay.runtime.review.store import Mark, ReviewStore
store, who = ReviewStore(Path(sys.argv[1])), sys.argv[2]
items = [(episode, "success", 1) for episode in range(200)]
while (item := store.claim(who, items)) is not None:
    assert store.keep(Mark(0, who, *item, 1.0, "sample"))
"""

HOLDER = """
import sys, time
from pathlib import Path
from assay.runtime.review.store import Mark, ReviewStore
store = ReviewStore(Path(sys.argv[1]))
store.keep(Mark(0, "ann", *store.claim("ann", [(1, "success", 1), (2, "success", 1)]), 1.0, "sample"))
print(store.claim("ann", [(1, "success", 1), (2, "success", 1)]), flush=True)
time.sleep(600)
"""


def mark(reviewer: str, episode: int, value: float | None = 1.0, about: str = "success") -> Mark:
    return Mark(0, reviewer, episode, about, value, "sample")


def test_nobody_is_asked_twice(tmp_path: Path) -> None:
    with ReviewStore(tmp_path) as store:
        wanted = [(1, "success", 2), (2, "success", 2), (3, "success", 1)]
        assert (1, "success") == store.claim("ann", wanted)
        assert store.keep(mark("ann", 1))
        assert not store.keep(mark("ann", 1, 0.0))
        assert (2, "success") == store.claim("ann", wanted)
        assert store.keep(mark("ann", 2, None))
        assert (3, "success") == store.claim("ann", wanted)
        assert [1.0] == [one.value for one in store.marks()]
        assert [1, 2] == [one.episode for one in store.marks(with_passed=True)]


def test_item_for_two_goes_to_two_and_what_one_passed_over_to_another(tmp_path: Path) -> None:
    with ReviewStore(tmp_path) as store:
        wanted = [(1, "success", 2), (2, "success", 1)]
        store.keep(mark("ann", 1))
        store.keep(mark("ann", 2, None))
        assert (1, "success") == store.claim("bob", wanted)
        store.keep(mark("bob", 1))
        assert (2, "success") == store.claim("bob", wanted)
        store.keep(mark("bob", 2))
        assert None is store.claim("eve", wanted)


def test_undone_mark_is_no_mark_and_stays_on_record(tmp_path: Path) -> None:
    with ReviewStore(tmp_path) as store:
        store.keep(mark("ann", 1))
        store.keep(mark("ann", 2, 0.0))
        undone = store.undo("ann")
        assert undone is not None and (2, 0.0) == (undone.episode, undone.value)
        assert [1] == [one.episode for one in store.marks()]
        assert store.keep(mark("ann", 2, 1.0))
        assert [1.0, 1.0] == [one.value for one in store.marks()]
        assert 3 == store._db.execute("SELECT COUNT(*) FROM mark").fetchone()[0]
        assert None is store.undo("bob")


def test_question_is_answered_by_the_first_mark(tmp_path: Path) -> None:
    question = Question("Ok?")
    with ReviewStore(tmp_path) as store:
        for _ in range(2):
            store.ask(7, "person", question, "run")
        assert [(7, question.id)] == [(one.episode, one.id) for one in store.questions()]
        assert None is store.answer(7, question.id)
        store.keep(mark("eve", 7, None, question.id))
        store.keep(mark("ann", 7, 0.25, question.id))
        store.keep(mark("bob", 7, 0.75, question.id))
        assert 0.25 == store.answer(7, question.id)
        assert None is store.answer(8, question.id)


def test_file_that_is_not_there_or_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="must have marks"):
        ReviewStore(tmp_path, should_make=False)
    (tmp_path / "review.sqlite").write_text("no database, and long enough not to be an empty one" * 10)
    with pytest.raises(StoreError, match=r"writable SQLite file, got file is not a database .* or move it away"):
        ReviewStore(tmp_path)


def test_full_disk_is_told_as_what_it_is_and_keeps_what_there_was(tmp_path: Path) -> None:
    with ReviewStore(tmp_path) as store:
        store.keep(mark("ann", 1))
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        # A file that may not grow is what SQLite makes of a disk that is full; it ends the transaction by itself.
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match=r"got database or disk is full .* `assay review` goes on"):
            store.keep(Mark(0, "ann", 2, "success", 1.0, "sample", "x" * 100_000))
        store._db.execute("PRAGMA max_page_count = 100000")
        store.keep(mark("ann", 3))
        assert [1, 3] == [one.episode for one in store.marks()]


@pytest.mark.slow
def test_reviewers_side_by_side_share_the_work_and_lose_nothing(tmp_path: Path) -> None:
    workers = [subprocess.Popen([sys.executable, "-c", MARKER, str(tmp_path), who]) for who in ("ann", "bob")]
    assert [0, 0] == [worker.wait(60) for worker in workers]
    with ReviewStore(tmp_path) as store:
        marks = store.marks()
    assert list(range(200)) == sorted(one.episode for one in marks)


@pytest.mark.slow
def test_what_a_killed_reviewer_had_on_the_screen_is_free_at_once_and_his_marks_stay(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert "(2, 'success')\n" == holder.stdout.readline()
    wanted = [(1, "success", 1), (2, "success", 1)]
    with ReviewStore(tmp_path) as store:
        assert None is store.claim("bob", wanted)
        # A second window of the same person is a second reviewer's too.
        assert None is store.claim("ann", wanted)
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
        assert (2, "success") == store.claim("bob", wanted)
        assert [("ann", 1)] == [(one.reviewer, one.episode) for one in store.marks()]
