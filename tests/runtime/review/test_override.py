"""Marks in place of verdicts: what people said about success, and the signal of a person."""

import hashlib
import sqlite3
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from assay.core.verdict import Measurement, Payout, Scored, Unscored
from assay.dsl.compile import compile_bytes
from assay.runtime.regrade.archive import Archive
from assay.runtime.regrade.regrade import Regrader
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review.desk import PeopleDesk
from assay.runtime.review.override import Overrides
from assay.runtime.review.question import Question
from assay.runtime.review.store import Mark, ReviewStore

SUCCESS = """\
  success: num.equal
  efficiency:
    when: success
    short: -0.1*min(trace.turns, 1)
"""


def marked(value: float, episode: int, about: str = "success", reviewer: str = "ann", note: str = "") -> Mark:
    return Mark(0, reviewer, episode, about, value, "sample", note)


def program(world: Any, *replaced: tuple[str, str], more: str = "") -> Any:
    text = import_module("world").DOMAIN
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    text = text.replace("group: {size", f"{more}group: {{size")
    return compile_bytes(text.encode(), world.registry, "edit.yaml", Path(".")).require()


def test_success_is_what_people_say_and_what_hangs_on_it_follows(world: Any, stored: StoredRun) -> None:
    after = program(world, more=SUCCESS)
    row = stored.find(2)
    assert row is not None
    old = row.verdict
    assert isinstance(old, Scored) and not old.payout.success
    verdict, (one,) = Overrides(stored, [marked(1.0, 2, note="close enough")], after).apply(row, old)
    assert isinstance(verdict, Scored)
    assert verdict.payout.success
    assert -0.1 == verdict.payout.terms["efficiency.short"]
    assert verdict.payout.reward == pytest.approx(old.payout.reward - 0.1)
    assert old.measurements == verdict.measurements
    assert ("success", 0.0, 1.0, "marked by ann 1 (close enough)") == (one.what, one.before, one.after, one.reason)


def test_closed_gate_pays_what_it_pays(world: Any, stored: StoredRun) -> None:
    row = stored.find(3)
    assert row is not None
    verdict, overrides = Overrides(stored, [marked(1.0, 3)], program(world)).apply(row, row.verdict)
    assert isinstance(verdict, Scored) and 1 == len(overrides)
    assert (-1.0, True, 0) == (verdict.payout.reward, verdict.payout.success, verdict.payout.gate)


@pytest.mark.parametrize(
    "marks",
    [
        [],
        [marked(0.0, 2)],
        [marked(1.0, 2), marked(0.0, 2, reviewer="bob")],
        [marked(1.0, 1)],
        [marked(1.0, 2, about="num.equal")],
    ],
    ids=["none", "the same", "in balance", "another episode", "another matter"],
)
def test_marks_that_change_nothing_leave_the_verdict(world: Any, stored: StoredRun, marks: list[Mark]) -> None:
    row = stored.find(2)
    assert row is not None
    assert (row.verdict, ()) == Overrides(stored, marks, program(world)).apply(row, row.verdict)


def test_episode_that_was_not_measured_stays_unscored(world: Any, stored: StoredRun) -> None:
    row = stored.find(9)
    assert row is not None and isinstance(row.verdict, Unscored)
    assert (row.verdict, ()) == Overrides(stored, [marked(1.0, 9)], program(world)).apply(row, row.verdict)


PERSON = (
    ("  text: text.equal(expected)\n", '  text: text.equal(expected)\n  person: human.mark("Ok?", low=0, high=4)\n'),
    ("    exact: 0.2*text.equal\n", "    exact: 0.2*text.equal\n    kind: person.mark\n"),
)
ASKED = Question("Ok?", 0.0, 4.0)


def test_signal_of_a_person_is_what_people_say_on_the_mean(world: Any, stored: StoredRun) -> None:
    after = program(world, *PERSON)
    row = stored.find(0)
    assert row is not None
    measured = {**row.verdict.measurements, "person": Measurement("x", 1, {"mark": 1.0})}
    old = Scored(measured, Payout(2.0, True, None, {}), "d", "r")
    marks = [marked(0.25, 0, ASKED.id), marked(0.5, 0, ASKED.id, "bob"), marked(0.0, 0)]
    verdict, (one,) = Overrides(stored, marks, after).apply(row, old)
    assert isinstance(verdict, Scored)
    assert ({"mark": 0.375}, 0.375) == (verdict.measurements["person"].signals, verdict.payout.terms["outcome.kind"])
    assert ("person.mark", 1.0, 0.375) == (one.what, one.before, one.after)


def test_late_answer_scores_what_nobody_had_answered(world: Any, stored: StoredRun) -> None:
    after = program(world, *PERSON)
    row = stored.find(0)
    assert row is not None
    late = Unscored("verifier_timeout", "nobody answered", "person", row.verdict.measurements)
    verdict, (one,) = Overrides(stored, [marked(1.0, 0, ASKED.id)], after).apply(row, late)
    assert isinstance(verdict, Scored)
    assert (1.0, None) == (verdict.payout.terms["outcome.kind"], one.before)
    # What no person says is still missing here.
    nothing = Unscored("infra", "lost", "num")
    assert (nothing, ()) == Overrides(stored, [marked(1.0, 0, ASKED.id)], after).apply(row, nothing)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
def test_regrade_keeps_overrides_with_their_reasons_and_the_ledger_as_it_was(world: Any, stored: StoredRun) -> None:
    before = digest(stored.folder.ledger)
    after = stored.plan.entries[0].program
    with Archive(stored.folder.path) as archive:
        regrader = Regrader(stored, archive, world.registry, marks=[marked(1.0, 2), marked(0.0, 5), marked(1.0, 9)])
        found = regrader.regrade("edit", after)
        path = archive.keep({})
    assert (2, 0) == (found.overridden, found.shift.changed)
    assert found.shift.before.success == found.shift.after.success
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT episode, what, before, after, reason FROM override ORDER BY 1").fetchall()
        kept = dict(db.execute("SELECT episode, success FROM verdict").fetchall())
    db.close()
    assert [(2, "success", 0.0, 1.0, "marked by ann 1"), (5, "success", 1.0, 0.0, "marked by ann 0")] == rows
    assert {2: 1, 5: 0} == kept
    assert before == digest(stored.folder.ledger)


@pytest.mark.slow
def test_edit_that_asks_people_asks_them_and_takes_their_answers_the_next_time(world: Any, stored: StoredRun) -> None:
    after, folder = program(world, *PERSON), stored.folder.path

    def regrade() -> Any:
        with Archive(folder) as archive:
            regrader = Regrader(stored, archive, world.registry, people=PeopleDesk(folder, can_wait=False))
            regrader.regrade("edit", after)
            return archive.verdicts()

    first = regrade()
    asked = [episode for episode, verdict in first.items() if isinstance(verdict, Unscored)]
    assert {"cancelled"} == {first[episode].cause for episode in asked}
    with ReviewStore(folder) as store:
        assert sorted(asked) == sorted(one.episode for one in store.questions())
        store.keep(marked(0.75, asked[0], ASKED.id))
    second = regrade()[asked[0]]
    assert isinstance(second, Scored) and 0.75 == second.payout.terms["outcome.kind"]
