"""What an edit costs: every part of a domain, edited one at a time."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.core.registry import Registry
from assay.dsl.change import Change, classify
from assay.dsl.compile import compile_bytes
from assay.dsl.program import Program

DOMAIN = """\
assay: 1
domain: edit.me
version: 1
summary: Something to edit.
fields:
  q: str
  names: list[str]
  weight: float[0,2]
data:
  train:
    - {q: one, names: [], weight: 1.0}
    - {q: two, names: [], weight: 0.5}
  demos:
    - {q: three, names: [], weight: 0.5, completion: "3"}
system: Be brief.
prompt: "Say {q}"
params: {solve: 1.0, limit: 3, spare: 0.25}
answer: test.boxed_answer()
verify:
  m: test.measure()
  l: test.lenient(limit)
  x: test.lenient(7)
reward:
  gate:
    - {name: parsed, if: trace.parsed, else: -1.5}
    - {name: good, if: m.good, else: -1.0}
  outcome:
    solved: weight*(solve*m.rate)
    again: 0.5*l.score
  process:
    turns: -0.01*min(trace.turns, 10)
episode:
  max_turns: 5
group: {size: 4}
allow:
  - {code: RW010, at: params.spare, because: "an edit uses it"}
  - {code: RW010, at: verify.x, because: "an edit uses it"}
"""

Edit = Callable[..., Change]


def compiled(registry: Registry, text: str) -> Program:
    return compile_bytes(text.encode(), registry, "edit.yaml", Path(".")).require()


@pytest.fixture(scope="module")
def before(registry: Registry) -> Program:
    return compiled(registry, DOMAIN)


@pytest.fixture
def edit(registry: Registry, before: Program) -> Edit:
    """Replace parts of the text and classify."""

    def run(*replaced: tuple[str, str]) -> Change:
        text = DOMAIN
        for old, new in replaced:
            assert 1 == text.count(old), old
            text = text.replace(old, new)
        return classify(before, compiled(registry, text))

    return run


def effects(change: Change) -> dict[str, str]:
    return {reason.part: reason.effect for reason in change.reasons}


@pytest.mark.parametrize(
    ("old", "new", "part", "effect"),
    [
        ("summary: Something", "summary: Anything", "summary", "REUSE"),
        ("version: 1", "version: 2", "domain", "REUSE"),
        ("group: {size: 4}", "group: {size: 6}", "group", "REUSE"),
        ("q: three", "q: tree", "data.demos", "REUSE"),
        ("0.5*l.score", "0.25*l.score", "reward.outcome.again", "REDUCE"),
        ("solve: 1.0", "solve: 2.0", "reward.outcome.solved", "REDUCE"),
        ("else: -1.0", "else: -1.25", "reward.gate.good.else", "REDUCE"),
        ("-0.01*min(trace.turns", "-0.02*min(trace.turns", "reward.process.turns", "REDUCE"),
        ("again: 0.5", "twice: 0.5", "reward.outcome.twice", "REDUCE"),
        ("limit: 3", "limit: 4", "verify.l", "REGRADE"),
        ("l: test.lenient(limit)", "l: test.lenient(4)", "verify.l", "REGRADE"),
        ("Say {q}", "Tell {q}", "prompt", "RERUN"),
        ("Be brief.", "Be long.", "system", "RERUN"),
        ("weight: float[0,2]", "weight: float[0,3]", "fields", "RERUN"),
        ("q: two", "q: too", "data.train", "RERUN"),
        ("max_turns: 5", "max_turns: 6", "episode", "RERUN"),
        ("answer: test.boxed_answer()", 'answer: test.boxed_answer("!")', "answer", "RERUN"),
        ("episode:\n", "sandbox: {image: python-3.11}\nepisode:\n", "sandbox", "RERUN"),
    ],
)
def test_each_part_has_its_price(edit: Edit, old: str, new: str, part: str, effect: str) -> None:
    change = edit((old, new))
    assert effect == effects(change)[part], change.reasons
    assert effect == change.effect


def test_nothing_edited_costs_nothing(before: Program) -> None:
    change = classify(before, before)
    assert ("REUSE", (), True) == (change.effect, change.reasons, change.is_same_reward)


def test_param_that_a_verifier_takes_is_no_edit_of_the_reward(edit: Edit) -> None:
    change = edit(("limit: 3", "limit: 4"))
    assert change.is_same_reward
    assert {"verify.l": "REGRADE"} == effects(change)
    assert "limit:3" in change.reasons[0].text and "limit:4" in change.reasons[0].text


def test_param_that_is_written_out_with_its_value_costs_nothing(edit: Edit) -> None:
    change = edit(("weight*(solve*m.rate)", "weight*(1.0*m.rate)"), ("solve: 1.0, ", ""))
    assert ("REUSE", True) == (change.effect, change.is_same_reward)


def test_renamed_verification_keeps_its_measurements(edit: Edit) -> None:
    change = edit(("l: test.lenient(limit)", "judge: test.lenient(limit)"), ("0.5*l.score", "0.5*judge.score"))
    assert "l" == change.sources["judge"]
    assert "REDUCE" == change.effect


def test_raised_version_of_a_verifier_is_regraded(before: Program) -> None:
    verify = before.verify["m"]
    newer = replace(verify, use=replace(verify.use, version=2))
    change = classify(before, replace(before, verify={**before.verify, "m": newer}))
    assert {"verify.m": "REGRADE"} == effects(change)
    assert change.reasons[0].text.endswith("test.measure() v1 -> test.measure() v2")


def test_raised_version_of_a_function_is_reduced(registry: Registry) -> None:
    before = compiled(registry, DOMAIN.replace("0.5*l.score", "halve(l.score)"))
    assert {"halve": 1} == before.reward.functions
    change = classify(before, replace(before, reward=replace(before.reward, functions={"halve": 2})))
    assert {"reward.halve()": "REDUCE"} == effects(change)


def test_verifier_that_no_reward_reads_costs_nothing(before: Program) -> None:
    verify = before.verify["x"]
    newer = replace(verify, use=replace(verify.use, version=2))
    assert "REUSE" == classify(before, replace(before, verify={**before.verify, "x": newer})).effect


def test_verification_that_no_reward_had_read_was_never_measured(edit: Edit) -> None:
    change = edit(("again: 0.5*l.score", "again: 0.5*l.score\n    more: 0.5*x.score"))
    assert "REGRADE" == change.effect
    assert any("`x`" in reason.text for reason in change.reasons if reason.effect == "REGRADE")


def test_gate_that_goes_asks_for_what_it_had_skipped(edit: Edit) -> None:
    change = edit(("    - {name: good, if: m.good, else: -1.0}\n", ""))
    assert "REGRADE" == effects(change)["reward.gate.good"]
    (reason,) = [reason for reason in change.reasons if reason.effect == "REGRADE"]
    assert "`l`" in reason.text and "`m`" not in reason.text


def test_gate_that_closes_where_it_did_asks_for_nothing(edit: Edit) -> None:
    change = edit(("    - {name: good", "    - {name: fast, if: trace.turns < 3, else: -1.2}\n    - {name: good"))
    assert "REDUCE" == change.effect


def test_guard_behind_closed_gates_asks_for_nothing(edit: Edit) -> None:
    change = edit(("process:", "efficiency:\n    when: success\n    steps: -0.01*trace.turns\n  process:"))
    assert "REDUCE" == change.effect
    assert "REDUCE" == effects(change)["reward.efficiency.when"]
