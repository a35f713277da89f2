"""The plan on a page: every entry of a short mix has a row, a long one is folded and stays within the width."""

from pathlib import Path
from typing import Any

import pytest
from tests.dsl.conftest import domain

from assay.core.registry import Registry
from assay.dsl.curriculum import compile_curriculum
from assay.dsl.diagram import plan_mermaid, plan_text
from assay.dsl.plan import Plan, Resources, build_plan
from assay.dsl.source.loader import load


@pytest.fixture
def plan(registry: Registry, tmp_path: Path) -> Any:
    """Return a maker of plans from the text of a curriculum."""
    (tmp_path / "a.yaml").write_text(domain("outcome:\n  solved: 1.0*m.good"))
    (tmp_path / "j.yaml").write_text(domain("outcome:\n  liked: 1.0*m.score", verify="m: test.judge('x@2024')"))

    def run(text: str, resources: Resources | None = None) -> Plan:
        tree = load(f"assay: 1\ncurriculum: c\n{text}".encode(), "c.yaml").tree
        assert tree is not None
        return build_plan(compile_curriculum(tree, registry, tmp_path), resources or Resources())

    return run


def long_mix(num: int) -> str:
    entries = [f"  entry_{n:03}: {{domain: a.yaml, share: {8 if n < 2 else 1}}}\n" for n in range(num)]
    return "mix:\n" + "".join(entries)


def test_long_mix_is_folded_and_names_every_entry_once(plan: Any) -> None:
    text = plan_text(plan(long_mix(100)), 80)

    assert "c: 100 entries of 1 domain, plan " in text
    assert [1] * 100 == [text.count(f"entry_{n:03}") for n in range(100)]
    assert [] == [line for line in text.splitlines() if len(line) > 80]
    rows = [line.split() for line in text.splitlines()]
    assert ["share", "entries", "each"] in rows
    assert ["14.0%", "2", "x", "7.02%", "entry_000,", "entry_001"] in rows
    assert ["86.0%", "98", "x", "0.88%"] in rows
    assert "  100.0%      100" in text.splitlines()


@pytest.mark.parametrize("width", [20, 60, 100, 200])
def test_page_is_no_wider_than_asked(width: int, plan: Any) -> None:
    lines = plan_text(plan(long_mix(40)), width).splitlines()

    assert max(map(len, lines)) <= max(width, 80)  # the sentences of the last section have a width of their own


def test_fact_that_differs_becomes_a_column(plan: Any) -> None:
    lines = plan_text(plan(long_mix(20) + "  z: {domain: j.yaml, share: 1}\n")).splitlines()

    assert ["share", "entries", "each", "grading"] in [line.split() for line in lines]
    assert [["2.9%", "1", "x", "2.86%", "judge,", "not", "deterministic", "z"]] == [
        line.split()[:7] + line.split()[-1:] for line in lines if "judge, not" in line
    ]


def test_rules_samplers_and_levels_stand_in_the_plan(plan: Any) -> None:
    short = plan_text(
        plan(
            "mix:\n  a: {domain: a.yaml, share: 3}\n  b: {domain: a.yaml, unlock: a.pass_rate > 0.5}\n"
            "admit: spread(reward) > 0\nadvantage: per_domain\n"
            "stages: {one: {until: step >= 5, share: {a: 1, b: 0}}, two: {until: forever}}\n"
        )
    )

    for part in (
        "unlock: a.pass_rate > 0.5",
        "admit spread(reward) > 0",
        "normalised over each domain",
        "shares a 100.0%",
    ):
        assert part in short


def test_mermaid_has_a_node_per_stage_of_the_graph(plan: Any) -> None:
    made = plan(long_mix(100))

    assert len(made.nodes) == plan_mermaid(made).count('["')


def test_questions_to_a_judge_are_as_many_as_may_be_out(plan: Any) -> None:
    made = plan("mix: {a: {domain: a.yaml}, j: {domain: j.yaml}}\n", Resources(verifiers=2, questions=8))
    assert {"verify.auto": 2, "verify.judge": 16} == {n.name: n.capacity for n in made.nodes if n.role == "verify"}
