"""A run starts only where every golden case of its mix holds."""

from pathlib import Path

import pytest

from assay.core.error import GraderError
from assay.core.registry import Registry
from assay.dsl.compile import compile_bytes
from assay.runtime.cli import main
from assay.runtime.cli.try_ import try_plan
from assay.runtime.preflight.golden import require_golden
from assay.runtime.run.build import build_entry
from assay.runtime.run.plan import RunPlan

DOMAIN = """\
assay: 1
domain: demo.gold
version: 1
fields: {word: str, other: str}
data:
  train:
    - {word: one, other: two}
prompt: "Say {word}, not {other}."
verify:
  said: text.equal(word)
reward:
  outcome:
    correct: 1.0*said.equal
examples:
  - {name: right, given: {said.equal: true}, reward: 1.0}
controls:
  oracle: {answer: "{word}", reward: "> 0.9"}
  nop: {answer: "", reward: "< 0.1"}
"""
BROKEN = DOMAIN.replace("text.equal(word)", "text.equal(other)")
CURRICULUM = """\
assay: 1
curriculum: mine
mix:
  gold: {domain: gold.yaml, share: 1}
stages:
  all: {until: step >= 1, batch: 8}
"""


def plan_of(text: str, registry: Registry) -> RunPlan:
    entry = build_entry("gold", 1.0, compile_bytes(text.encode(), registry, "gold.yaml", Path()), registry)
    return try_plan(entry, "policy", registry)


@pytest.mark.slow
def test_sound_grader_passes(registry: Registry) -> None:
    require_golden(plan_of(DOMAIN, registry), registry)


def test_failing_example_is_named_and_nothing_is_graded(registry: Registry) -> None:
    plan = plan_of(DOMAIN.replace("reward: 1.0", "reward: 0.5"), registry)
    with pytest.raises(GraderError, match=r"got gold: right: reward must be == 0\.5, got 1 - at local/demo\.gold@1"):
        require_golden(plan, registry)


@pytest.mark.slow
def test_failing_control_is_named_with_row_and_signals(registry: Registry) -> None:
    with pytest.raises(GraderError) as caught:
        require_golden(plan_of(BROKEN, registry), registry)
    problem = "gold: control `oracle` on train[0]: reward must be > 0.9, got 0 (said.equal=False)"
    assert ("AS011", problem) == (caught.value.error_code, caught.value.got)


@pytest.mark.slow
def test_run_with_a_broken_grader_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gold.yaml").write_text(BROKEN)
    (tmp_path / "mine.yaml").write_text(CURRICULUM)
    monkeypatch.chdir(tmp_path)
    assert 1 == main(["train", "curriculum=mine.yaml"])
    captured = capsys.readouterr()
    assert "error[AS011]" in captured.err
    assert "control `oracle`" in captured.err
    assert not (tmp_path / "runs").exists()
