"""Overrides reach the declared trees of a mix: one entry, or all of them at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.registry import Registry
from assay.dsl.source.loader import load
from assay.runtime.config.job import Mix, compile_mix
from assay.runtime.config.override import read_overrides

DOMAIN = """assay: 1
domain: demo.{name}
version: 1
fields: {{question: str, expected: str}}
data: {{train: [{{question: q, expected: a}}]}}
prompt: "{{question}}"
verify: {{ans: text.equal(expected)}}
reward: {{outcome: {{{term}: 1.0*ans.equal}}}}
"""
CURRICULUM = """assay: 1
curriculum: demo
mix: {a: {domain: a.yaml}, b: {domain: b.yaml}, c: {domain: c.yaml}}
"""


@pytest.fixture
def compiled(tmp_path: Path, registry: Registry) -> Callable[..., Mix]:
    """Compile a mix of three domains, the last of which names its term otherwise, with overrides."""
    for name in "abc":
        (tmp_path / f"{name}.yaml").write_text(DOMAIN.format(name=name, term="right" if name == "c" else "correct"))

    def run(*texts: str) -> Mix:
        overrides, findings = read_overrides(texts)
        assert [] == findings
        tree = load(CURRICULUM.encode(), "demo.yaml").tree
        assert tree is not None
        return compile_mix(tree, overrides, registry, tmp_path)

    return run


def test_override_of_every_entry_edits_each(compiled: Callable[..., Mix]) -> None:
    mix = compiled("domain.*.group.size=2", "domain.b.group.size=3")

    assert () == mix.findings
    assert {"a": 2, "b": 3, "c": 2} == {name: one.group.size for name, one in mix.compiled.programs.items()}


@pytest.mark.parametrize(
    "text", ["domain.*.reward.outcome.correct='0.5*ans.equal'", "domain.*.grup.size=2", "+domain.*.group=2"]
)
def test_override_that_one_entry_refuses_is_one_finding(text: str, compiled: Callable[..., Mix]) -> None:
    findings = compiled(text).findings

    assert ["<override 1>"] == [one.span.path for one in findings]


def test_only_a_whole_entry_is_a_star() -> None:
    for text in ("domain.a*.group.size=2", "curriculum.mix.*.share=1", "domain.*x.y=1", "*=1"):
        assert ["CF001"] == [one.code for one in read_overrides([text])[1]]
