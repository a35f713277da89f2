"""Curricula: shares, stages, rules and budgets, and what of them cannot be meant."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.dsl.conftest import domain

from assay.core.error import SourceError
from assay.core.registry import Registry
from assay.dsl.curriculum import CompiledCurriculum, compile_curriculum, read_budget
from assay.dsl.diagram import plan_mermaid, plan_text
from assay.dsl.plan import Resources, build_plan
from assay.dsl.source.loader import load

Compile = Callable[..., CompiledCurriculum]

HEAD = "assay: 1\ncurriculum: c\n"
MIX = "mix:\n  a: {domain: a.yaml, share: 3}\n  b: {domain: b.yaml, share: 1}\n"
STAGES = "stages:\n  one: {until: step >= 5, batch: 8}\n  two: {until: forever, batch: 8}\n"


@pytest.fixture
def compile_mix(registry: Registry, tmp_path: Path) -> Compile:
    demos = "data:\n  train:\n    - {q: x}\n  demos:\n    - {q: x, completion: y}\n"
    plain = domain("outcome:\n  solved: 1.0*m.good\n  extra: 0.5*m.rate")
    start, end = plain.index("data:"), plain.index("prompt:")
    (tmp_path / "a.yaml").write_text(plain[:start] + demos + plain[end:])
    (tmp_path / "b.yaml").write_text(plain)
    judged = domain("outcome:\n  solved: 1.0*j.score", verify='j: test.judge("judge@1")')
    (tmp_path / "judged.yaml").write_text(judged)
    (tmp_path / "floating.yaml").write_text(judged.replace("judge@1", "judge"))
    (tmp_path / "broken.yaml").write_text(plain.replace("m.good", "m.god"))
    boxed = domain("outcome:\n  solved: 1.0*j.score", fields="q: str\nnames: list[str]", verify="j: test.boxed(names)")
    (tmp_path / "boxless.yaml").write_text(boxed)

    def run(text: str, batch: int | None = None) -> CompiledCurriculum:
        loaded = load((HEAD + text).encode(), "c.yaml")
        assert loaded.tree is not None
        return compile_curriculum(loaded.tree, registry, tmp_path, batch=batch, findings=loaded.findings)

    return run


def found(compiled: CompiledCurriculum) -> list[tuple[str, str]]:
    return [(f.code, f.span.source[f.span.column - 1 : f.span.end_column - 1]) for f in compiled.findings]


def test_shares_are_weights(compile_mix: Compile) -> None:
    curriculum = compile_mix(MIX + STAGES).curriculum
    assert curriculum is not None
    assert {"a": 0.75, "b": 0.25} == {name: entry.share for name, entry in curriculum.mix.items()}
    assert [("one", 8), ("two", 8)] == [(stage.name, stage.batch) for stage in curriculum.stages]


def test_a_stage_may_have_shares_of_its_own(compile_mix: Compile) -> None:
    text = MIX + "stages:\n  one: {until: forever, share: {a: 1, b: 0}}\n"
    curriculum = compile_mix(text).curriculum
    assert curriculum is not None
    assert {"a": 1.0, "b": 0.0} == curriculum.stages[0].share


def test_without_stages_there_is_one_that_lasts(compile_mix: Compile) -> None:
    curriculum = compile_mix(MIX).curriculum
    assert curriculum is not None
    assert [("rl", None)] == [(stage.kind, stage.until) for stage in curriculum.stages]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MIX.replace("share: 1", "share: -1"), ("CU001", "-1")),
        (MIX.replace("share: 1", "share: 0").replace("share: 3", "share: 0"), ("CU001", "mix")),
        (MIX.replace("b.yaml", "c.yaml"), ("CU001", "c.yaml")),
        (MIX.replace("b.yaml", "quickstart.spel"), ("CU001", "quickstart.spel")),
        (MIX.replace("share: 1", "share: 1, unlock: a.pass_rate > 1"), ("CU001", "a.pass_rate > 1")),
        (MIX.replace("share: 1", "share: 1, unlock: a.pas_rate > 1"), ("RX001", "a.pas_rate")),
        (MIX.replace("share: 1", "share: 1, unlock: a.solved"), ("RX003", "a.solved")),
        (MIX.replace("share: 1", "share: 1, unlok: step > 1"), ("YM002", "unlok")),
        (MIX.replace("share: 1", "share: 1, sampler: bnd()"), ("RX006", "bnd")),
        (MIX + "stages:\n  one: {until: forever}\n  two: {until: forever}\n", ("CU001", "two")),
        (MIX + "stages:\n  one: {until: step < 0}\n", ("CU001", "step < 0")),
        (MIX + "stages:\n  one: {until: forever, share: {c: 1}}\n", ("CU001", "c")),
        (MIX + "stages:\n  one: {until: forever, kind: sft}\n", ("CU001", "sft")),
        (MIX + "stages:\n  one: {until: forever, batch: 3}\n", ("CU001", "one")),
        (MIX + "stages:\n  one: {until: forever, decay: 2}\n", ("YM003", "2")),
        (MIX + "stages: {}\n", ("CU001", "{}")),
        (MIX + "admit: spread(reward) < 0\n", ("CU001", "spread(reward) < 0")),
        (MIX + "levels: {c: {x: [1]}}\n", ("CU001", "c")),
        (MIX + "balance: tokens\n", ("YM003", "tokens")),
        (MIX + "require: {tier: [human]}\n", ("CT001", "tier")),
        (MIX + "require: {verify_cost: <= 1ms}\n", ("CT001", "verify_cost")),
        (MIX + "require: {verify_cost: <= 1 USD}\n", ("YM003", "<= 1 USD")),
        (MIX.replace("b.yaml", "judged.yaml") + "require: {judge_cost: <= 0.001 USD}\n", ("CT001", "judge_cost")),
        (MIX.replace("b.yaml", "judged.yaml") + "require: {deterministic_share: '>= 0.8'}\n",
         ("DT001", "deterministic_share")),
        (MIX.replace("b.yaml", "judged.yaml") + "require: {deterministic: true}\n", ("DT001", "deterministic")),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_reported_where_it_stands(
    compile_mix: Compile, text: str, expected: tuple[str, str]
) -> None:
    compiled = compile_mix(text)
    assert compiled.curriculum is None
    assert expected in found(compiled)
    assert {expected[0]} == {code for code, _ in found(compiled)}


@pytest.mark.parametrize(
    "text",
    [
        MIX.replace("share: 1", "share: 1, unlock: a.pass_rate > 0.5 and step > 10"),
        MIX.replace("share: 1", "share: 1, unlock: a.extra > 0.2"),
        MIX + "admit: spread(reward) > 0\n",
        MIX + "admit: count(success) > 0 and mean(reward) < 0.9\n",
        MIX + "stages:\n  one: {until: forever, kind: sft, share: {a: 1}}\n",
        MIX.replace("b.yaml", "judged.yaml") + "require: {judge_cost: <= 0.02 USD, deterministic_share: '>= 0.7'}\n",
        MIX + "require: {tier: [auto, judge], verify_cost: <= 10ms}\n",
    ],
)
def test_what_is_meant_compiles(compile_mix: Compile, text: str) -> None:
    compiled = compile_mix(text)
    assert found(compiled) == []
    assert compiled.curriculum is not None


def test_a_floating_judge_is_an_error_where_determinism_is_required(compile_mix: Compile) -> None:
    text = MIX.replace("b.yaml", "floating.yaml")
    assert [("DT001", "warning")] == [(f.code, f.severity) for f in compile_mix(text).findings]
    severities = {f.severity for f in compile_mix(text + "require: {deterministic: true}\n").findings}
    assert {"warning", "error"} == severities


def test_findings_of_a_domain_come_with_those_of_the_curriculum(compile_mix: Compile) -> None:
    compiled = compile_mix(MIX.replace("b.yaml", "broken.yaml") + "balance: tokens\n")
    assert {"RX001", "YM003"} == {code for code, _ in found(compiled)}


def test_a_plan_shows_every_entry_stage_and_edge(compile_mix: Compile) -> None:
    plan = build_plan(compile_mix(MIX + STAGES), Resources(verifiers=3))
    names = {node.name for node in plan.nodes}
    assert {"source", "rollout", "verify.auto", "group", "update"} == names
    assert all(edge.source in names and edge.target in names for edge in plan.edges)
    text, drawing = plan_text(plan), plan_mermaid(plan)
    assert all(word in text for word in ("a", "75.0%", "one", "until step >= 5", "3 processes"))
    assert drawing.startswith("flowchart LR")
    assert 5 == drawing.count("<br/>")


def test_a_plan_has_one_digest_that_sees_every_change(compile_mix: Compile) -> None:
    before = build_plan(compile_mix(MIX + STAGES), Resources())
    assert before.digest == build_plan(compile_mix(MIX + STAGES), Resources()).digest
    assert before.digest != build_plan(compile_mix(MIX + STAGES), Resources(rollouts=2)).digest
    assert before.digest != build_plan(compile_mix(MIX.replace("3", "2") + STAGES), Resources()).digest


def test_a_missing_sandbox_is_a_warning_in_check_and_an_error_in_a_plan(compile_mix: Compile) -> None:
    compiled = compile_mix(MIX.replace("b.yaml", "boxless.yaml"))
    assert [("SB001", "warning")] == [(f.code, f.severity) for f in compiled.findings]
    with pytest.raises(SourceError) as caught:
        build_plan(compiled, Resources())
    assert ["SB001"] == [getattr(item, "code", "") for item in caught.value.findings]


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("<= 0.02 USD", "USD", ("<=", 0.02)),
        ("< 2 s", "s", ("<", 2.0)),
        ("<= 200ms", "s", ("<=", 0.2)),
        (">= 0.7", "", (">=", 0.7)),
        ("0.7", "", None),
        ("<= 2 s", "USD", None),
        ("<= 2", "s", None),
    ],
)
def test_budgets_have_units(text: str, unit: str, expected: tuple[str, float] | None) -> None:
    assert expected == read_budget(text, unit)
