"""`assay test`: examples through the compiled reward, and first rows of sources."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Write = Callable[..., Path]

GATED = """\
  gate:
    - if: ans.equal
      else: -1.0
  efficiency:
    when: success
    turns: -0.01*min(trace.turns, 10)
"""


def problems(ran: Any, part: str = "examples") -> list[str]:
    return [one["problem"] for report in json.loads(ran.out)["domains"] for one in report[part]]


def test_examples_and_rows_that_hold_pass(run: Run) -> None:
    ran = run("test", "demo.one")
    assert (0, "") == (ran.status, ran.err)
    assert "3 passed, 0 failed" in ran.out


@pytest.mark.parametrize(
    ("example", "problem"),
    [
        ("{given: {ans.equal: true}, reward: 1.0}", ""),
        ("{given: {ans.equal: true}, reward: 1.0, success: true}", ""),
        ("{given: {ans.equal: false}, reward: '< 0.5', success: false}", ""),
        ("{given: {ans.equal: true}, reward: '>= 1'}", ""),
        ("{given: {ans.equal: true}, reward: 0.5}", "reward must be == 0.5, got 1"),
        ("{given: {ans.equal: true}, reward: '> 1'}", "reward must be > 1, got 1"),
        ("{given: {ans.equal: true}, reward: 1, success: false}", "success must be false, got true"),
        ("{given: {}, reward: 1}", "must give `ans.equal`"),
    ],
)
def test_example_says_what_does_not_hold(run: Run, write: Write, example: str, problem: str) -> None:
    ran = run("test", "--format", "json", str(write(more=f"examples:\n  - {example}\n")))
    assert [problem] == problems(ran)
    assert int(bool(problem)) == ran.status


@pytest.mark.parametrize(
    ("given", "reward", "problem"),
    [
        ("{ans.equal: false}", "-1.0", ""),
        ("{ans.equal: true}", "0.9", "must give `trace.turns`"),
        ("{ans.equal: true, trace.turns: 3}", "0.97", ""),
        ("{trace.turns: 3}", "0.97", "must give `ans.equal`"),
    ],
)
def test_only_what_the_reward_turns_on_must_be_given(
    run: Run, write: Write, given: str, reward: str, problem: str
) -> None:
    path = write(more=f"{GATED}examples:\n  - {{given: {given}, reward: {reward}}}\n")
    assert [problem] == problems(run("test", "--format", "json", str(path)))


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("demo.numbers(20)", ""),
        ("demo.numbers(20, bad=3)", "DA001: row 3 field `question` must be str, got 3 (int)"),
        ("demo.numbers(20, bad=12)", ""),
        ("demo.numbers(0)", "DA001: a source must have rows, got none"),
        ("demo.broken()", "DA001: row 0 must be readable, got ZeroDivisionError: no rows today"),
    ],
)
def test_first_rows_of_a_source_are_read(run: Run, write: Write, source: str, problem: str) -> None:
    path = write(('\n    - {question: "1+1", expected: "2"}', f" {source}"))
    ran = run("test", "--format", "json", str(path))
    assert [problem] == problems(ran, "rows")
    assert int(bool(problem)) == ran.status


def test_more_rows_are_read_where_asked(run: Run, write: Write) -> None:
    path = write(('\n    - {question: "1+1", expected: "2"}', " demo.numbers(20, bad=12)"))
    assert 1 == run("test", "--rows", "13", str(path)).status
    assert 0 == run("test", "--rows", "0", str(path)).status


def test_domain_that_does_not_compile_fails_and_keeps_no_other_from_being_tested(run: Run, write: Write) -> None:
    ran = run("test", str(write(("ans.equal", "ans.eqal"))), "demo.one")
    assert 1 == ran.status
    assert "error[RX001]" in ran.out
    assert "3 passed, 0 failed" in ran.out


@pytest.mark.parametrize("name", ["demo.on", "absent.yaml"])
def test_unknown_domain_is_wrong_usage(run: Run, name: str) -> None:
    ran = run("test", name)
    assert (2, "") == (ran.status, ran.out)
    assert name in ran.err


CONTROLS = """\
controls:
  oracle: {answer: "{expected}", reward: "> 0.9"}
  nop: {answer: "", reward: "< 0.1"}
"""


@pytest.mark.slow
def test_controls_go_through_the_real_verifiers(run: Run, write: Write) -> None:
    ran = run("test", str(write(more=CONTROLS)), "--controls")
    assert (0, "") == (ran.status, ran.err)
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "pass controls.oracle reward > 0.9 got 1 1 row" in lines
    assert "pass controls.nop reward < 0.1 got 0 1 row" in lines


@pytest.mark.slow
def test_grader_that_misjudges_a_control_is_refused_by_the_control_s_name(run: Run, write: Write) -> None:
    broken = write(("text.equal(expected)", "text.equal(question)"), more=CONTROLS)
    ran = run("test", str(broken), "--controls", "--format", "json")
    assert 1 == ran.status
    oracle, nop = json.loads(ran.out)["domains"][0]["controls"]
    problem = "train[0]: reward must be > 0.9, got 0 (ans.equal=False)"
    expected = {
        "name": "oracle",
        "expected": "> 0.9",
        "rewards": [0.0],
        "problem": problem,
        "is_lost": False,
        "note": "",
    }
    assert expected == oracle
    assert "" == nop["problem"]


@pytest.mark.slow
def test_control_passes_through_the_answer_parser(run: Run, write: Write) -> None:
    controls = """\
controls:
  oracle: {answer: "so \\\\boxed{{{expected}}}", reward: "> 0.9"}
  bare: {answer: "{expected}", reward: "< 0.1"}
"""
    ran = run("test", str(write(('prompt: "', 'answer: boxed()\nprompt: "'), more=controls)), "--controls")
    assert (0, "") == (ran.status, ran.err), ran.out


def test_domain_without_controls_cannot_be_tried(run: Run) -> None:
    ran = run("test", "demo.one", "--controls")
    assert 1 == ran.status
    assert "a domain must have `controls` to be tried, got none" in ran.out


def test_controls_that_need_an_absent_sandbox_say_which(run: Run, write: Write) -> None:
    path = write(("text.equal", "demo.boxed"), more=f"sandbox: {{image: python-3.11}}\n{CONTROLS}")
    ran = run("test", str(path), "--controls")
    assert 2 == ran.status
    assert "0 failed, 1 could not be tried" in ran.out
    declares = "exec, history.sever, image, isolation.fresh, net.none"
    assert f"SB001: controls of this domain must have a sandbox that declares {declares}" in ran.out
    assert "process lacks history.sever, image, isolation.fresh, net.none" in ran.out
    ran = run("test", str(path), "--controls", "--sandbox", "proces")
    assert (1, True) == (ran.status, "unknown sandbox `proces`. did you mean `process`?" in ran.err)
