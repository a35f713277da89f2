"""One signal moved at a time: each line says what the scalar back end says."""

from pathlib import Path
from typing import Any

import pytest

from assay.core.registry import Registry
from assay.dsl.compile import compile_bytes
from assay.dsl.reduce import Grader
from assay.runtime import builtin
from assay.runtime.explain.counterfactual import Counterfactual, counterfactuals

DOMAIN = """\
assay: 1
domain: long.episode
version: 1
fields: {q: str, expected: str}
data: {train: [{q: a, expected: "1"}]}
prompt: "{q}"
params: {slow: 18}
episode: {max_turns: 40}
verify:
  num: number.equal(expected)
  text: text.equal(expected)
reward:
  gate:
    - {if: num.parsed, else: -3.0}
  outcome:
    correct: 1.0*num.equal
    exact: 0.25*text.equal
  process:
    slow: -0.4*(trace.turns > slow)
    cut: -0.1*trace.truncated
  efficiency:
    when: success
    steps: -0.01*min(trace.turns, 30)
"""
TRACE = {"turns": 23, "tokens": 90, "prompt_tokens": 9, "tool_calls": 0, "invalid_calls": 0}


@pytest.fixture(scope="module")
def grader() -> Grader:
    registry = Registry()
    registry.add(builtin, "assay-rl", "0")
    return Grader(compile_bytes(DOMAIN.encode(), registry, "long.yaml", Path(".")).require())


def signals(*, is_right: bool = True, parsed: bool = True, **trace: Any) -> dict[str, dict[str, Any]]:
    found = {"trace": {**TRACE, "truncated": False, "parsed": True, "wall_s": 1.0, **trace}}
    found["num"] = {"equal": is_right, "parsed": parsed}
    return {**found, "text": {"equal": is_right}} if parsed else found


def texts(found: list[Counterfactual]) -> list[str]:
    return [one.text for one in found]


def test_an_earlier_end_is_named_by_its_turn(grader: Grader) -> None:
    found = texts(counterfactuals(grader, signals(is_right=False), {}))
    assert "0.4 higher had it stopped at turn 18" in found
    assert "1 higher had num.equal been true" in found
    assert "0.25 higher had text.equal been true" in found
    assert "0.1 lower had it been cut off" in found


def test_what_gains_most_comes_first_and_the_steepest_beside_it(grader: Grader) -> None:
    found = counterfactuals(grader, signals(), {})
    turns = [one for one in found if one.signal == "trace.turns"]
    # Right answers also pay for each turn: the shortest episode gains most, the threshold most per turn.
    assert [1, 18] == [one.value for one in turns]
    assert [pytest.approx(0.62), pytest.approx(0.45)] == [one.gain for one in turns]
    gains = [one.gain or 0.0 for one in found]
    assert sorted(gains, reverse=True) == gains


def test_values_that_siblings_reached_are_tried(grader: Grader) -> None:
    alone = counterfactuals(grader, signals(turns=17), {})
    beside = counterfactuals(grader, signals(turns=17), {}, [signals(turns=15)])
    assert 15 not in {one.value for one in alone}
    assert "0.02 higher had it stopped at turn 15" in texts(beside)


def test_every_line_is_what_the_scalar_back_end_pays(grader: Grader) -> None:
    measured = signals(truncated=True)
    now = grader.payout(measured, {}).reward
    found = counterfactuals(grader, measured, {})
    assert found
    for one in found:
        owner, _, name = one.signal.partition(".")
        moved = {**measured, owner: {**measured[owner], name: one.value}}
        reward = grader.payout(moved, {}).reward
        assert (reward, reward - now) == (one.reward, one.gain)
        assert abs(reward - now) > 1e-9


def test_nothing_is_moved_beyond_its_range(grader: Grader) -> None:
    for one in counterfactuals(grader, signals(), {}, [signals(turns=39)]):
        if one.signal == "trace.turns":
            assert 1 <= one.value


def test_opened_gate_without_its_measurements_is_not_guessed(grader: Grader) -> None:
    (one,) = counterfactuals(grader, signals(is_right=False, parsed=False), {})
    assert (None, None, ("text",)) == (one.reward, one.gain, one.missing)
    assert "not known had num.parsed been true: text was not measured" == one.text
