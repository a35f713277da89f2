"""What a run makes of a domain that asks people, before it starts."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.error import ConfigError
from assay.dsl.compile import compile_bytes
from assay.runtime.cli.try_ import try_plan
from assay.runtime.coordinator.spec import EvaluationSpec
from assay.runtime.preflight.golden import require_golden
from assay.runtime.review.question import MAX_PATIENCE_S
from assay.runtime.run.build import build_entry
from assay.runtime.run.coordination import run_spec
from assay.runtime.run.plan import EntryPlan, RunPlan, StagePlan

DOMAIN = """\
assay: 1
domain: demo.{name}
version: 1
summary: Right or kind.
fields: {{q: str}}
data:
  train:
    - {{q: one}}
  eval:
    - {{q: two}}
prompt: "{{q}}"
verify:
  said: {call}
reward:
  outcome:
    good: {term}
controls:
  oracle: {{answer: "{{q}}", reward: "> 0.9"}}
"""


def entry(world: Any, name: str, call: str, term: str) -> EntryPlan:
    text = DOMAIN.format(name=name, call=call, term=term).encode()
    return build_entry(name, 1.0, compile_bytes(text, world.registry, f"{name}.yaml", Path(".")), world.registry)


@pytest.fixture
def plan(world: Any) -> RunPlan:
    """A mix of a domain that a program grades and one that people do."""
    quick = entry(world, "quick", "text.equal(q)", "1.0*said.equal")
    asked = entry(world, "asked", 'human.mark("Is it kind?")', "said.mark")
    found = try_plan(quick, "stub", world.registry)
    settings = {
        **found.settings,
        "scheduler": {"max_inflight": 1024, "max_staleness": 1, "options": {}},
        "algorithm": {"shuffle_rewards": False, "options": {}},
        "trainer": {"checkpoint_every": 1, "batch": 2, "lr": 1e-3},
    }
    return msgspec.structs.replace(found, entries=(quick, asked), settings=settings)


def test_question_that_nobody_can_answer_is_refused(world: Any) -> None:
    with pytest.raises(ConfigError, match=r"a question must be one that can be asked.*mix\.asked\.verify\.said"):
        entry(world, "asked", 'human.mark("Ok?", low=2, high=1)', "said.mark")


def test_lease_is_made_for_patience_and_cost_for_machines(plan: RunPlan) -> None:
    quick, asked = run_spec(plan).entries
    assert ("auto", "human") == (quick.tier, asked.tier)
    assert asked.max_verify_s > MAX_PATIENCE_S > quick.max_verify_s
    # Five minutes of a person are none of a verify worker.
    assert asked.verify_s < 1.0


def test_evaluation_inside_training_asks_nobody(plan: RunPlan) -> None:
    stage = StagePlan("learn", "rl", 4, 2, 1e-3)
    trained = run_spec(msgspec.structs.replace(plan, stages=(stage,)))
    evaluated = run_spec(plan)
    assert [{"quick": 1}, {"quick": 1}] == [p.sizes for p in trained.phases if isinstance(p, EvaluationSpec)]
    assert [{"quick": 1, "asked": 1}] == [p.sizes for p in evaluated.phases if isinstance(p, EvaluationSpec)]


def test_open_questions_are_few(plan: RunPlan) -> None:
    tiers = run_spec(plan).tiers
    assert (1024, 128) == (tiers["auto"].inflight, tiers["human"].inflight)


@pytest.mark.slow
def test_golden_cases_go_on_without_people(plan: RunPlan, world: Any) -> None:
    require_golden(plan, world.registry)
