"""Reduce: laziness, sums, faults, and both back ends on whole rewards."""

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dsl.conftest import domain

from assay.core.error import VerifierFault
from assay.dsl.compile import Compiled
from assay.dsl.reduce import Grader

REWARD = """
success: m.good and m.rate > 0.5
gate:
  - name: ran
    if: m.offset > -5
    else: -3
  - if: not j.score < 0.1
    else: -2.5
outcome:
  solved: 1.6*m.rate*m.good
  extra: 0.4*m.good*(m.rate > 0)
process:
  invalid: -0.2*min(trace.invalid_calls, 3)
efficiency:
  when: success
  steps: -0.01*min(trace.turns, 40)
"""
VERIFY = 'm: test.measure()\nj: test.judge("judge@1")'
MEASURED: dict[str, Any] = {
    "good": True, "bad": False, "rate": 1.0, "loss": 0.0, "delta": 0.0, "failed": 0, "passed": 3,
    "seconds": 1.0, "offset": 0, "mode": "x", "flags": [], "scores": [],
}  # fmt: skip
TRACE = {
    "turns": 5, "tokens": 9, "prompt_tokens": 4, "tool_calls": 0, "invalid_calls": 1,
    "truncated": False, "parsed": True, "wall_s": 0.1,
}  # fmt: skip


@pytest.fixture(scope="module")
def grader(compile_text: Callable[[str], Compiled]) -> Grader:
    return Grader(compile_text(domain(REWARD, verify=VERIFY)).require())


def signals(**changed: Any) -> dict[str, dict[str, Any]]:
    score = changed.pop("score", 0.9)
    trace = {name: changed.pop(name, value) for name, value in TRACE.items()}
    return {"m": {**MEASURED, **changed}, "j": {"score": score}, "trace": trace}


def test_terms_sum_to_the_reward(grader: Grader) -> None:
    payout = grader.payout(signals(), {})
    expected = {"outcome.solved": 1.6, "outcome.extra": 0.4, "process.invalid": -0.2, "efficiency.steps": -0.05}
    assert expected == payout.terms
    assert math.fsum(expected.values()) == pytest.approx(payout.reward)
    assert payout.success
    assert payout.gate is None


def test_guarded_terms_are_zero_where_the_guard_does_not_hold(grader: Grader) -> None:
    payout = grader.payout(signals(good=False), {})
    assert 0.0 == payout.terms["efficiency.steps"]
    assert not payout.success


def test_a_closed_gate_pays_and_keeps_the_set_of_terms(grader: Grader) -> None:
    payout = grader.payout(signals(score=0.05), {})
    assert -2.5 == payout.reward
    assert 1 == payout.gate
    assert dict.fromkeys(grader.term_names, 0.0) == payout.terms
    assert not payout.success


def test_what_lies_below_a_closed_gate_is_never_asked_for(grader: Grader) -> None:
    trace = {"trace": TRACE}
    assert ("m",) == grader.needs(trace, {})
    assert () == grader.needs({**trace, "m": {**MEASURED, "offset": -5}}, {})
    assert ("j",) == grader.needs({**trace, "m": MEASURED}, {})
    assert () == grader.needs(signals(), {})


def test_a_verifier_of_later_terms_is_not_asked_for_behind_a_closed_gate(
    compile_text: Callable[[str], Compiled],
) -> None:
    reward = "gate:\n  - if: m.good\n    else: -1\noutcome:\n  solved: 1.0*j.score"
    grader = Grader(compile_text(domain(reward, verify=VERIFY)).require())
    assert () == grader.needs({"trace": TRACE, "m": {**MEASURED, "good": False}}, {})
    assert ("j",) == grader.needs({"trace": TRACE, "m": MEASURED}, {})


def test_a_reward_that_is_not_finite_is_a_fault(grader: Grader) -> None:
    with pytest.raises(VerifierFault):
        grader.payout(signals(rate=math.inf), {})
    with pytest.raises(VerifierFault):
        grader.payout(signals(rate=math.nan), {})


_VALUES = st.fixed_dictionaries(
    {
        "good": st.booleans(),
        "rate": st.floats(0, 1),
        "offset": st.integers(-5, 5),
        "score": st.floats(0, 1),
        "invalid_calls": st.integers(0, 9),
        "turns": st.integers(0, 99),
    }
)


@settings(max_examples=100)
@given(st.lists(_VALUES, min_size=1, max_size=6))
def test_columns_fast_path_and_payout_give_the_same_numbers(grader: Grader, rows: list[dict[str, Any]]) -> None:
    episodes = [signals(**row) for row in rows]
    columns = {}
    for name in grader.column_names():
        owner, _, signal = name.partition(".")
        columns[name] = numpy.asarray([episode[owner][signal] for episode in episodes])
    expected = [grader.payout(episode, {}).reward for episode in episodes]
    assert expected == [float(grader.reward(episode, {})) for episode in episodes]
    assert expected == grader.columns(columns, len(rows)).tolist()


@settings(max_examples=200)
@given(_VALUES)
def test_reward_lies_in_the_proved_range(compile_text: Callable[[str], Compiled], row: dict[str, Any]) -> None:
    compiled = compile_text(domain(REWARD, verify=VERIFY))
    assert compiled.facts is not None
    reward = Grader(compiled.require()).payout(signals(**row), {}).reward
    assert compiled.facts.reward.lo <= reward <= compiled.facts.reward.hi


def test_chunks_of_columns_join_without_a_seam(grader: Grader) -> None:
    size = 40_000
    columns = {name: numpy.zeros(size) for name in grader.column_names()}
    columns["m.rate"] = numpy.linspace(0, 1, size)
    columns["m.good"] = numpy.ones(size, dtype=bool)
    columns["j.score"] = numpy.ones(size)
    rewards = grader.columns(columns, size)
    assert rewards[-1] == grader.payout(signals(rate=1.0, invalid_calls=0, turns=0, score=1.0), {}).reward
    assert numpy.all(numpy.diff(rewards[1:]) >= 0)
