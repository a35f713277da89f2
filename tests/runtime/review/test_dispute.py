"""Which episodes are looked at because their verifiers disagree."""

from typing import Any

import pytest

from assay.core.kind import Kind
from assay.core.signal import SignalSpec
from assay.core.verdict import Measurement, Payout, Scored, Unscored
from assay.dsl.program import Program, Use, Verify
from assay.runtime.coordinator.ledger import read_only
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review.dispute import find_disputes, is_disputed, score

EXACT = Verify(
    Use("text.equal", 1),
    {"parsed": SignalSpec("parsed", Kind("bool")), "equal": SignalSpec("equal", Kind("bool"), better="up")},
    "auto",
    True,
)
JUDGE = Verify(
    Use("judge.score", 1),
    {
        "agreement": SignalSpec("agreement", Kind("float", 0.0, 1.0), better="up"),
        "score": SignalSpec("score", Kind("float", 0.0, 10.0), better="up"),
        "fault": SignalSpec("fault", Kind("bool"), better="down"),
    },
    "judge",
    False,
)


@pytest.fixture
def program(stored: StoredRun) -> Program:
    import msgspec

    return msgspec.structs.replace(stored.plan.entries[0].program, verify={"exact": EXACT, "judge": JUDGE})


def verdict(success: bool, equal: bool | None = None, points: float | None = None, agreement: float = 1.0) -> Scored:
    measured: dict[str, Any] = {}
    if equal is not None:
        measured["exact"] = Measurement("a", 1, {"parsed": True, "equal": equal})
    if points is not None:
        measured["judge"] = Measurement("a", 1, {"agreement": agreement, "score": points, "fault": True})
    return Scored(measured, Payout(1.0, success, None, {}), "d", "r")


def test_first_signal_with_a_better_end_is_what_a_verifier_says() -> None:
    assert 0.3 == pytest.approx(score(JUDGE, {"agreement": 0.0, "score": 3.0, "fault": True}))
    assert 1.0 == score(EXACT, {"parsed": False, "equal": True})
    assert None is score(EXACT, {"parsed": True})


@pytest.mark.parametrize(
    ("given", "is_found"),
    [
        (verdict(True, True, 9.0), False),
        (verdict(True, True, 4.0), True),
        (verdict(False, False, 9.0), True),
        (verdict(False, False, 1.0), False),
        (verdict(True, False, 8.0), True),
        (verdict(True, False), False),
        (verdict(True, True, 9.0, agreement=0.69), True),
        (verdict(True, True, 9.0, agreement=0.7), False),
        (Unscored("judge_error", "down"), False),
    ],
)
def test_judge_against_program_success_and_itself(program: Program, given: Any, is_found: bool) -> None:
    assert is_found == is_disputed(program, given)


def test_equal_answers_of_siblings_with_other_outcomes_are_found(stored: StoredRun) -> None:
    ledger = read_only(stored.folder.ledger)
    programs = {"edit": stored.plan.entries[0].program}
    mixed = [
        [row.episode for row in stored.group(grp) if row.verdict_text]
        for (grp,) in ledger.execute(
            "SELECT grp FROM episode WHERE reward IS NOT NULL GROUP BY grp HAVING MIN(success) < MAX(success)"
        )
    ]
    assert mixed
    same = {episode: "the same" if episode in mixed[0] else str(episode) for group in mixed for episode in group}
    assert sorted(mixed[0]) == find_disputes(ledger, programs, same.get)
    assert [] == find_disputes(ledger, programs, str)
    assert [] == find_disputes(ledger, programs, lambda episode: None)
    ledger.close()
