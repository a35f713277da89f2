"""Curricula: shares, unlocks, stages, rules and budgets, each with the one finding it earns."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.dsl.conftest import domain

from assay.core.registry import Registry
from assay.dsl.curriculum import CompiledCurriculum, compile_curriculum
from assay.dsl.expr.show import show
from assay.dsl.source.loader import load

Read = Callable[..., CompiledCurriculum]
OPEN = "a: {domain: a.yaml, share: 0.3}"
MIX = f"mix:\n  {OPEN}\n  j: {{domain: j.yaml, share: 0.7}}\n"


@pytest.fixture
def read(registry: Registry, tmp_path: Path) -> Read:
    (tmp_path / "a.yaml").write_text(domain("outcome:\n  solved: 1.0*m.good"))
    (tmp_path / "j.yaml").write_text(domain("outcome:\n  liked: 1.0*m.score", verify="m: test.judge('x@2024')"))

    def run(text: str, batch: int | None = None) -> CompiledCurriculum:
        loaded = load(f"assay: 1\ncurriculum: c\n{text}".encode(), "c.yaml")
        assert loaded.tree is not None
        return compile_curriculum(loaded.tree, registry, tmp_path, batch=batch, findings=loaded.findings)

    return run


def underlined(compiled: CompiledCurriculum) -> list[tuple[str, str]]:
    return [(f.code, f.span.source[f.span.column - 1 : f.span.end_column - 1]) for f in compiled.findings]


def mix(*entries: str) -> str:
    return "mix:\n" + "".join(f"  {entry}\n" for entry in entries)


FAULTS = [
    # Shares
    (mix("a: {domain: a.yaml, share: -1}"), ("CU001", "-1")),
    (mix("a: {domain: a.yaml, share: 0}", "b: {domain: a.yaml, share: 0}"), ("CU001", "mix")),
    (mix("a: {domain: a.yaml, share: many}"), ("YM003", "many")),
    (MIX + "stages: {s: {until: forever, share: {}}}\n", ("CU001", "{}")),
    (MIX + "stages: {s: {until: forever, share: {aa: 1}}}\n", ("CU001", "aa")),
    ("mix: {}\n", ("YM003", "{}")),
    (mix("step: {domain: a.yaml}"), ("YM001", "step")),
    # Domains
    (mix("a: {domain: no.such}"), ("CU001", "no.such")),
    (mix("a: {domain: b.yaml}"), ("CU001", "b.yaml")),
    # Unlocks
    (mix(OPEN, "b: {domain: a.yaml, unlock: a.pass_rate > 1}"), ("CU001", "a.pass_rate > 1")),
    (mix(OPEN, "b: {domain: a.yaml, unlock: a.solvd > 1}"), ("RX001", "a.solvd")),
    (mix(OPEN, "b: {domain: a.yaml, unlock: a.pass_rate}"), ("RX003", "a.pass_rate")),
    (mix(OPEN, "b: {domain: a.yaml, unlock: b.pass_rate > 0}"), ("CU001", "b.pass_rate > 0")),
    (mix(OPEN, "z: {domain: a.yaml, share: 0}", "b: {domain: a.yaml, unlock: z.pass_rate > 0}"),
     ("CU001", "z.pass_rate > 0")),
    # Stages
    (MIX + "stages: {s: {until: forever}, t: {until: forever}}\n", ("CU001", "t")),
    (MIX + "stages: {s: {until: step < 0}, t: {until: forever}}\n", ("CU001", "step < 0")),
    (MIX + "stages: {s: {until: step >= 0}, t: {until: forever}}\n", ("CU001", "step >= 0")),
    (MIX + "stages: {s: {until: step >= 200}, t: {until: step >= 100}}\n", ("CU001", "step >= 100")),
    (MIX + "stages: {s: {until: a.pass_rate > 0.5}, t: {until: step >= 1}}\n", ("CU001", "step >= 1")),
    (MIX + "stages: {s: {until: forever, batch: 2}}\n", ("CU001", "s")),
    (MIX + "stages: {s: {kind: sft, share: {a: 1}, until: forever}}\n", ("CU001", "sft")),
    # Stage rules
    (MIX + "stages: {s: {until: stil(a.solved)}}\n", ("RX006", "stil")),
    (MIX + "stages: {s: {until: still()}}\n", ("RX006", "still()")),
    (MIX + "stages:\n  s: {until: 'still(a.solved, patiense=3)'}\n", ("RX006", "still(a.solved, patiense=3)")),
    (MIX + "stages: {s: {until: still(0.5)}}\n", ("RX003", "0.5")),
    (MIX + "stages:\n  s: {until: 'still(a.solved, patience=0.5)'}\n", ("RX003", "0.5")),
    (MIX + "stages:\n  s: {until: 'still(a.solved, a.reward - 1)'}\n", ("RX002", "a.reward - 1")),
    (MIX + "stages: {s: {until: still(a.solvd)}}\n", ("RX001", "a.solvd")),
    (MIX + "stages: {s: {until: still(b.solved) or step >= 9}}\n", ("RX001", "b.solved")),
    (MIX + "stages:\n  s: {until: 'step >= 9 or still(a.solved, patience=0)'}\n",
     ("CU001", "still(a.solved, patience=0)")),
    (MIX + "stages: {s: {share: {a: 1}, until: still(j.liked) or step >= 9}}\n", ("CU001", "j.liked")),
    (MIX + "stages: {s: {until: still(a.solved) and step < 0}, t: {until: forever}}\n",
     ("CU001", "still(a.solved) and step < 0")),
    (MIX + "stages: {s: {until: still(a.solved) or step >= 0}, t: {until: forever}}\n",
     ("CU001", "still(a.solved) or step >= 0")),
    (MIX + "stages: {s: {until: far.rule(a.solved)}}\n", ("RX006", "far.rule(a.solved)")),
    (MIX + "stages: {s: {until: not still(a.solved)}}\n", ("RX002", "still(a.solved)")),
    (mix(OPEN, "b: {domain: a.yaml, unlock: still(a.solved)}"), ("RX002", "still(a.solved)")),
    # Rules and samplers
    (MIX + "sampler: picky(low=2)\n", ("CU001", "picky(low=2)")),
    (mix(OPEN, "b: {domain: a.yaml, sampler: picky(2.5)}"), ("CU001", "picky(2.5)")),
    (MIX + "admit: spread(reward) < 0\n", ("CU001", "spread(reward) < 0")),
    (MIX + "admit: reward > 0\n", ("RX003", "reward > 0")),
    (MIX + "sampler: bnd()\n", ("RX006", "bnd")),
    # Budgets
    (MIX + "require: {tier: [auto]}\n", ("CT001", "tier")),
    (MIX + "require: {tier: [robot]}\n", ("YM003", "robot")),
    (MIX + "require: {judge_cost: <= 0.001 USD}\n", ("CT001", "judge_cost")),
    (MIX + "require: {judge_cost: <= 0.02}\n", ("YM003", "<= 0.02")),
    (MIX + "require: {verify_cost: <= 1 s}\n", ("CT001", "verify_cost")),
    (MIX + 'require: {deterministic_share: ">= 0.7"}\n', ("DT001", "deterministic_share")),
    (MIX + "require: {deterministic: true}\n", ("DT001", "deterministic")),
    (MIX + "levels: {aa: {digits: [1]}}\n", ("CU001", "aa")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FAULTS)
def test_a_fault_of_a_curriculum_is_one_finding(read: Read, text: str, expected: tuple[str, str]) -> None:
    assert [expected] == underlined(read(text))


@pytest.mark.parametrize(
    "text",
    [
        MIX,
        mix("a: {domain: a.yaml, share: 1e308}", "b: {domain: a.yaml, share: 1e308}"),
        mix(OPEN, "b: {domain: a.yaml, unlock: a.pass_rate > 0.5}", "c: {domain: a.yaml, unlock: b.reward > 0.5}"),
        mix(OPEN, "b: {domain: a.yaml, unlock: step > 9 or b.pass_rate > 0.5}"),
        MIX + "stages: {s: {until: step >= 200}, t: {until: step >= 201}, u: {until: forever}}\n",
        MIX + "stages: {s: {until: a.pass_rate > 0.5}, t: {until: step >= 2}}\n",
        MIX + "admit: spread(reward) > 0\n",
        MIX + "stages: {s: {until: still(a.solved)}, t: {until: step >= 2}}\n",
        MIX + "stages:\n  s: {until: 'still(a.solved, j.reward, patience=9) or step >= 500'}\n",
        MIX + "stages: {s: {until: far.rule(signal=a.solved) and (step >= 9 or still(a.reward))}}\n",
        MIX + "sampler: picky(low=1)\n",
        MIX + 'require: {tier: [auto, judge], judge_cost: <= 0.02 USD, deterministic_share: ">= 0.3"}\n',
    ],
)
def test_a_meant_curriculum_is_left_alone(read: Read, text: str) -> None:
    assert [] == underlined(read(text))


def test_shares_sum_to_one_even_where_their_sum_is_no_float(read: Read) -> None:
    curriculum = read(mix("a: {domain: a.yaml, share: 1.5e308}", "b: {domain: a.yaml, share: 0.5e308}")).curriculum
    assert curriculum is not None
    assert [0.75, 0.25] == [entry.share for entry in curriculum.mix.values()]


def test_a_stage_behind_a_stage_rule_may_begin_one_step_later(read: Read) -> None:
    text = MIX + "stages: {s: {until: still(a.solved) or step >= 90}, t: {until: step >= 1}}\n"
    assert [("CU001", "step >= 1")] == underlined(read(text))


def test_a_refusal_says_what_the_constructor_says(read: Read) -> None:
    (finding,) = read(MIX + "sampler: picky(low=2)\n").findings
    assert "`picky` refuses its arguments: ValueError: low is too high" == finding.message
    (finding,) = read(MIX + "stages:\n  s: {until: 'still(a.solved, patience=0)'}\n").findings
    assert "test.still must have a patience of at least 1, got 0" == finding.message


def test_a_stage_keeps_the_call_of_its_rule(read: Read) -> None:
    curriculum = read(MIX + "stages:\n  s: {until: 'still(a.solved, patience=9) or step >= 500'}\n").curriculum
    assert curriculum is not None and curriculum.stages[0].until is not None
    assert "still(a.solved, patience=9) or step >= 500" == show(curriculum.stages[0].until)
