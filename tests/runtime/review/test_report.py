"""What marks of a stored run say about its verifiers."""

import json
from collections.abc import Sequence

import pytest
from review_pair import pairs

from assay.core.verdict import Scored
from assay.dsl.calibration import Mark as Row
from assay.dsl.calibration import read_mark
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review.agreement import agree
from assay.runtime.review.calibration import calibration_rows, to_line
from assay.runtime.review.report import Comparison, gather, judge, report_agreement
from assay.runtime.review.store import Mark


def successes(stored: StoredRun) -> dict[int, bool]:
    found = {}
    for row in stored.graded("edit"):
        verdict = row.verdict
        if isinstance(verdict, Scored):
            found[row.episode] = verdict.payout.success
    return found


def marks_of(
    said: dict[int, float], reviewer: str = "ann", chosen: str = "sample", about: str = "success"
) -> list[Mark]:
    return [Mark(0, reviewer, episode, about, value, chosen) for episode, value in said.items()]


def compared(found: Sequence[Comparison], other: str) -> Comparison:
    (one,) = [one for one in found if one.other == other]
    return one


def test_marks_are_compared_with_success_and_every_bool(stored: StoredRun) -> None:
    truth = successes(stored)
    found = report_agreement(stored, marks_of({episode: float(value) for episode, value in truth.items()}))
    # Behind the gate `text` was not measured.
    assert ["success", "num.equal", "num.parsed", "text.equal"] == [one.other for one in found.comparisons]
    success = compared(found.comparisons, "success")
    assert (15, 1.0, 1.0, ()) == (
        success.agreement.marks,
        success.agreement.raw,
        success.agreement.kappa,
        success.contradictions,
    )
    assert compared(found.comparisons, "text.equal").agreement.marks < 15
    assert ["too few marks", "", "", ""] == [one.says for one in found.comparisons]
    assert ({"ann": 15}, 15, ()) == (found.marks, found.sampled, found.unseen)


def test_figures_are_weighted_by_stratum(stored: StoredRun) -> None:
    truth = successes(stored)
    good = [episode for episode, value in truth.items() if value][:1]
    bad = [episode for episode, value in truth.items() if not value][:2]
    found = report_agreement(stored, marks_of({good[0]: 0.0, bad[0]: 0.0, bad[1]: 0.0}))
    one = compared(found.comparisons, "success").agreement
    num_bad = sum(not value for value in truth.values())
    assert (pytest.approx(2 / 3), pytest.approx(num_bad / 15)) == (one.raw, one.share)
    (case,) = compared(found.comparisons, "success").contradictions
    assert (good[0], False, True, ("ann",)) == (case.episode, case.mark, case.other, case.reviewers)


def test_what_nobody_sampled_is_named(stored: StoredRun) -> None:
    truth = successes(stored)
    bad = {episode: 0.0 for episode, value in truth.items() if not value}
    assert ("edit, success",) == report_agreement(stored, marks_of(bad)).unseen
    picked = report_agreement(stored, marks_of(bad, chosen="dispute"))
    assert ("edit, failure", "edit, success") == picked.unseen
    assert (None, len(bad)) == (compared(picked.comparisons, "success").agreement.share, picked.disputed)


def test_reviewers_are_compared_and_in_balance_count_in_nothing(stored: StoredRun) -> None:
    marks = [
        *marks_of({0: 1.0, 1: 1.0, 2: 0.0}),
        *marks_of({0: 1.0, 1: 0.0, 2: 0.0}, "bob"),
        *marks_of({1: 1.0}, "eve"),
    ]
    found = report_agreement(stored, marks)
    # Pairs: 0 and 2 agree; of episode 1 ann-bob and bob-eve differ, ann-eve agree.
    assert (5, 3) == (found.between.marks, found.between.both + found.between.neither)
    assert () == found.split
    split = report_agreement(stored, [*marks_of({1: 1.0, 2: 0.0}), *marks_of({1: 0.0}, "bob")])
    assert ((1,), 1) == (split.split, compared(split.comparisons, "success").agreement.marks)


def test_passed_over_and_unknown_episodes_count_in_nothing(stored: StoredRun) -> None:
    found = report_agreement(stored, [Mark(0, "ann", 0, "success", None, "sample"), *marks_of({4711: 1.0})])
    assert ({}, {"ann": 1}, ()) == (found.marks, found.passed, found.comparisons)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ((10, 10, 0, 0), "good"),
        ((20, 0, 0, 0), "good"),
        ((9, 9, 0, 0), "too few marks"),
        ((3, 3, 2, 2), "bad"),
        ((10, 10, 0, 30), "bad"),
        # One difference among many good answers leaves nothing beyond chance, and is no fault.
        ((39, 0, 1, 0), "good"),
        # Agreement by chance alone, where the interval does not settle it.
        ((17, 0, 2, 2), "bad"),
    ],
)
def test_verifier_that_agrees_badly_is_said_to(cells: tuple[int, int, int, int], says: str) -> None:
    sampled = pairs(*cells)
    assert says == judge(agree(sampled), len(sampled))
    assert "too few marks" == judge(agree([], sampled), 0)


def test_marks_become_rows_that_a_calibration_takes(stored: StoredRun) -> None:
    marks = [
        *marks_of({0: 1.0, 1: 1.0, 3: 0.0}),
        *marks_of({0: 0.0, 1: 1.0}, "bob"),
        *marks_of({8: 1.0}, about="num.parsed"),
    ]
    rows = list(calibration_rows(stored, marks, "text.equal"))
    program = stored.plan.entries[0].program
    read = [read_mark(json.loads(to_line(row)), program.fields, program.verify["text"].signals, "text") for row in rows]
    assert all(isinstance(one, Row) for one in read), read
    # 0 is in balance, and 8 is about something else.
    assert [("so =10.3", {"text.equal": True}), ("=ten", {"text.equal": False})] == [
        (row["answer"], row["expect"]) for row in rows
    ]
    assert {"q": "a", "expected": "10", "weight": 1.0} == rows[0]["task"]


def test_equal_answers_to_one_task_are_one_row(stored: StoredRun) -> None:
    # Siblings 8 and 9 both said `=7`.
    rows = list(calibration_rows(stored, marks_of({8: 1.0, 9: 1.0}), "num.equal"))
    assert 1 == len(rows)


def test_marks_of_one_matter_are_gathered() -> None:
    found = gather(
        [*marks_of({1: 1.0, 2: 0.0}), *marks_of({1: 0.0}, "bob", "dispute"), *marks_of({1: 1.0}, about="a.b")]
    )
    assert [(1, "a.b", 1.0), (1, "success", 0.5), (2, "success", 0.0)] == [(o.episode, o.about, o.value) for o in found]
    assert [True, None, False] == [one.is_good for one in found]
    assert "sample" == found[1].chosen
