"""From a compiled quickstart to what its coordinator decides by."""

from pathlib import Path

import msgspec
import pytest

import assay
from assay.core.error import AssayError, ConfigError
from assay.core.registry import installed, resolve
from assay.core.stage_rule import StageView
from assay.dsl.expr.node import Compare, Num, Ref
from assay.dsl.mix import Stage
from assay.runtime.audit.threshold import Thresholds
from assay.runtime.config.job import prepare
from assay.runtime.config.override import read_overrides
from assay.runtime.coordinator.spec import EvaluationSpec, StageSpec
from assay.runtime.run.build import build_plan
from assay.runtime.run.coordination import run_spec, stage_plans
from assay.runtime.run.plan import RunPlan, read_plan, write_plan
from assay.runtime.run.rule import Until
from assay.runtime.stage.source import open_part, open_source

TRAINER = {"batch": 32, "lr": 1e-3}


def plan_of(*overrides: str) -> RunPlan:
    parsed, findings = read_overrides(overrides)
    job = prepare(parsed, installed())
    assert [] == findings
    assert job.mix is not None and job.composition.settings is not None
    curriculum, domains = job.mix.compiled.curriculum, job.mix.compiled.domains
    assert curriculum is not None
    return build_plan(curriculum, domains, job.composition.settings, installed(), Path("policy"))


@pytest.fixture(scope="module")
def quickstart() -> RunPlan:
    return plan_of()


def test_run_is_evaluated_untrained_before_and_after_reinforcement(quickstart: RunPlan) -> None:
    phases = run_spec(quickstart).phases
    assert ["untrained", "warmup", "before", "learn", "after"] == [phase.name for phase in phases]
    sizes = dict.fromkeys(("spell", "caesar", "spiral", "sort"), 160)
    assert [sizes] * 3 == [phase.sizes for phase in phases if isinstance(phase, EvaluationSpec)]


def test_canaries_stand_beside_the_tasks_of_every_evaluation() -> None:
    rows = ", ".join(f"{{question: q{number}, expected: nobody}}" for number in range(3))
    plan = plan_of(f"+domain.spell.data.canary=[{rows}]", "eval.tasks=2")
    evaluations = [phase for phase in run_spec(plan).phases if isinstance(phase, EvaluationSpec)]
    assert [{"spell": 2}] * 3 == [phase.canaries for phase in evaluations]
    assert 3 == plan.entry("spell").splits["canary"].size
    assert plan.digest != plan_of("eval.tasks=2").digest


def test_ranges_of_terms_and_levels_of_the_audit_reach_the_coordinator(quickstart: RunPlan) -> None:
    assert {"outcome.correct": (0.0, 1.0)} == run_spec(quickstart).entries[0].ranges
    assert 0.75 == run_spec(plan_of("audit.length=0.75")).audit.length
    assert run_spec(quickstart).audit == Thresholds()


def test_nothing_is_published_while_demonstrations_are_imitated(quickstart: RunPlan) -> None:
    warmup, learn = (phase for phase in run_spec(quickstart).phases if isinstance(phase, StageSpec))
    assert ("sft", 0) == (warmup.kind, warmup.publish_every)
    assert ("rl", 1, 2) == (learn.kind, learn.publish_every, learn.max_staleness)


def test_evaluations_cut_a_stage_and_reset_its_optimizer_once() -> None:
    plan = plan_of(
        "curriculum.stages.warmup.until=step >= 10", "curriculum.stages.learn.until=step >= 15", "eval.every=4"
    )
    phases = run_spec(plan).phases
    assert ["untrained", "warmup", "warmup-4", "warmup", "warmup-8", "warmup", "before", "learn", "learn-14", "learn",
            "after"] == [phase.name for phase in phases]  # fmt: skip
    stages = [phase for phase in phases if isinstance(phase, StageSpec)]
    assert [4, 4, 2, 4, 1] == [stage.steps for stage in stages]
    assert [True, False, False, True, False] == [stage.should_reset_optimizer for stage in stages]


def test_plan_reads_back_as_it_was(quickstart: RunPlan, tmp_path: Path) -> None:
    write_plan(tmp_path, quickstart)
    assert msgspec.json.encode(quickstart) == msgspec.json.encode(read_plan(tmp_path))
    assert quickstart.digest == read_plan(tmp_path).digest


def test_digest_leaves_out_what_changes_nothing(quickstart: RunPlan) -> None:
    assert quickstart.digest == plan_of("launcher.rollouts=3", "run.name=other", "run.folder=elsewhere").digest
    for override in ("seed", "trainer.lr", "domain.spell.reward.outcome.correct", "eval.tasks"):
        values = {"seed": "run.seed=1", "trainer.lr": "trainer.lr=2e-3", "eval.tasks": "eval.tasks=8"}
        text = values.get(override, "domain.spell.reward.outcome.correct='0.5*ans.equal'")
        assert quickstart.digest != plan_of(text).digest, text


def test_every_entry_is_resolved_for_workers(quickstart: RunPlan) -> None:
    for entry in quickstart.entries:
        assert {"train", "eval", "demos"} == set(entry.splits)
        assert all(plan.ref.startswith("assay-domain-reasoning-gym:") for plan in entry.splits.values())
        assert {"reasoning_gym.exact"} == set(entry.leaves)
        assert len({plan.digest for plan in entry.splits.values()}) == 3
    kinds = {"engine", "trainer", "algorithm", "scheduler", "store", "launcher", "chat_format"}
    assert kinds == set(quickstart.factories)


def test_threads_do_not_exceed_the_cores() -> None:
    from assay.runtime.run.environment import threads_for

    assert 2 == threads_for(2, wanted=8, cores=4)
    assert 1 == threads_for(3, wanted=8, cores=2)
    assert 3 == threads_for(1, wanted=3, cores=16)


def test_rule_alone_leaves_the_length_open() -> None:
    rule = plan_of("curriculum.stages.learn.until=spell.pass_rate > 0.9").stages[1]
    assert (0, True) == (rule.steps, rule.until is not None)
    spec = run_spec(plan_of("curriculum.stages.learn.until=spell.pass_rate > 0.9")).phases[3]
    assert isinstance(spec, StageSpec)
    assert isinstance(spec.until, Until)


def test_stage_rule_is_found_again_by_the_coordinator() -> None:
    plan = plan_of("curriculum.stages.learn.until='plateau(spell.pass_rate, patience=2) or step >= 900'")
    stage = plan.stages[1]
    assert (0, f"assay-rl:{assay.__version__}:assay.runtime.rule.plateau:Plateau") == (
        stage.steps,
        stage.rules["plateau"],
    )
    spec = run_spec(plan).phases[3]
    assert isinstance(spec, StageSpec) and isinstance(spec.until, Until)
    over, memory = spec.until.look(StageView(801, 1, {"spell": {"pass_rate": 0.5}}), None)
    assert not over
    assert spec.until.look(StageView(803, 3, {"spell": {"pass_rate": 0.5}}), memory)[0]


def test_stage_without_a_step_is_refused() -> None:
    end = Compare(signs=(">=",), items=(Ref(name="step"), Num(text="5")))
    stages = [Stage("first", "rl", end, {"a": 1.0}), Stage("second", "rl", end, {"a": 1.0})]
    with pytest.raises(ConfigError, match=r"must have a step of its own, got an end at step 5, reached at 5"):
        stage_plans(stages, TRAINER)


def test_fall_of_the_rate_needs_a_known_end() -> None:
    stage = Stage("open", "rl", None, {"a": 1.0}, decay=0.5)
    with pytest.raises(ConfigError, match="must end at a known step"):
        stage_plans([stage], TRAINER)


def test_stage_takes_from_the_trainer_what_it_leaves_out() -> None:
    (plan,) = stage_plans([Stage("open", "rl", None, {"a": 1.0})], TRAINER)
    assert (32, 1e-3, 0) == (plan.batch, plan.lr, plan.steps)


def test_a_backend_that_no_run_would_use_is_refused() -> None:
    with pytest.raises(ConfigError, match="a sandbox must be wanted by a verifier of the mix, got none"):
        plan_of("sandbox.name=docker")


def test_what_this_runtime_cannot_keep_is_refused(quickstart: RunPlan) -> None:
    from assay.runtime.run import build

    program = quickstart.entries[0].program
    changed = msgspec.structs.replace(program, episode=msgspec.structs.replace(program.episode, max_turns=3))
    with pytest.raises(ConfigError, match="must have episodes of one turn"):
        build._check_supported("spell", changed)


def test_advantages_per_domain_reach_the_algorithm_and_the_digest(quickstart: RunPlan) -> None:
    plan = plan_of("curriculum.advantage=per_domain")
    algorithm = resolve(plan.factories["algorithm"])(**plan.settings["algorithm"]["options"])
    assert "domain" == algorithm.scope
    assert "scope" not in quickstart.settings["algorithm"]["options"]
    assert quickstart.digest != plan.digest


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("algorithm.normalize=false", "must be normalised"),
        ("+algorithm.scope=group", "must have one scope"),
    ],
)
def test_advantages_per_domain_contradict_no_setting(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan_of("curriculum.advantage=per_domain", override)


@pytest.mark.parametrize(
    ("overrides", "key", "expected"),
    [
        (("scheduler=fair", "scheduler.max_wait_s=5.0"), "max_wait_s", 5.0),
        (("scheduler=tiered", "scheduler.max_heavy=2"), "max_heavy", 2),
    ],
)
def test_scheduler_is_made_for_each_queue_with_its_options(
    overrides: tuple[str, ...], key: str, expected: float
) -> None:
    spec = run_spec(plan_of(*overrides))
    assert expected == getattr(spec.rollout_scheduler, key) == getattr(spec.verify_scheduler, key)
    assert spec.rollout_scheduler is not spec.verify_scheduler


@pytest.mark.slow
def test_levels_open_the_source_with_their_attributes(quickstart: RunPlan) -> None:
    plan = plan_of("+curriculum.levels={spell: {seed: [3, 5], size: [40, 60]}}")
    train = plan.entry("spell").splits["train"]
    assert ["seed=3 size=40", "seed=5 size=40", "seed=5 size=60"] == [level.name for level in train.levels]
    assert (140, 0) == (train.size, len(plan.entry("sort").splits["train"].levels))
    assert train.digest != quickstart.entry("spell").splits["train"].digest
    assert quickstart.digest != plan.digest
    source = open_source(plan.entry("spell").program, "train", train)
    at_3, at_5 = (open_part(plan.entry("spell").program, "train", train, {"seed": n}) for n in (3, 5))
    assert [at_3.read(39), at_5.read(0), at_5.read(0)] == [source.read(index) for index in (39, 40, 80)]
    assert at_3.read(0) != at_5.read(0)
    (spell, *_) = run_spec(plan).check().entries
    assert [40, 40, 60] == [level.size for level in spell.levels]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("+curriculum.levels={spell: {size: [40, 0]}}", "must open at every level, got .*: size=0"),
        ("+curriculum.levels={spell: {domain: [spell, spill]}}", "must open at every level, got .*: domain=spill"),
    ],
)
def test_level_that_cannot_be_opened_is_refused(override: str, message: str) -> None:
    with pytest.raises(AssayError, match=message):
        plan_of(override)
