"""From the plan of a run to what its coordinator decides by: phases, credits, limits, policies."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assay.core.error import ConfigError
from assay.core.registry import Registry, installed, owner_of, resolve
from assay.core.scheduler import Scheduler
from assay.core.trajectory import WeightVersion
from assay.core.wire import Split, Weights
from assay.dsl.condition import rule_calls
from assay.dsl.expr.node import Expr
from assay.dsl.mix import Stage
from assay.runtime.audit.threshold import Thresholds
from assay.runtime.coordinator.patience import TIER
from assay.runtime.coordinator.spec import Admit, EntrySpec, EvaluationSpec, LevelSpec, RunSpec, StageSpec, TierSpec
from assay.runtime.run.plan import EntryPlan, RunPlan, StagePlan
from assay.runtime.run.rule import Admit as AdmitRule
from assay.runtime.run.rule import Rule, Until, last_step

UNTRAINED, BEFORE, AFTER = "untrained", "before", "after"
"""Names of the three evaluations of every run: fresh weights, where reinforcement starts, the end."""

# Demonstrations of one step come from every entry; what is asked ahead hides a source worker's latency.
_PREFETCH, _CHUNK = 128, 64
_MAX_ROLLOUT_S = 300.0
# More questions than people answer soon would be about a policy that is long gone.
_QUESTIONS, _QUESTION_GROUPS = 128, 2


def run_spec(plan: RunPlan) -> RunSpec:
    """Return what the coordinator of a run needs.

    Raises:
        ConfigError: a rule or a limit that cannot be meant.
    """
    launcher = plan.settings["launcher"]
    tiers = sorted({entry.tier for entry in plan.entries})
    return RunSpec(
        plan_digest=plan.digest,
        seed=plan.seed,
        entries=tuple(_entry(entry) for entry in plan.entries),
        phases=tuple(_phases(plan)),
        tiers={tier: TierSpec(inflight=_inflight(plan, tier)) for tier in tiers},
        start=None if plan.stages else Weights(WeightVersion(0, 0), plan.policy),
        heartbeat_s=launcher["heartbeat_s"],
        prefetch=_PREFETCH,
        task_chunk=_CHUNK,
        watchdog_s=launcher["watchdog_s"],
        drain_s=launcher["drain_s"],
        balance=plan.balance,
        admit=_admit(plan.admit),
        rollout_scheduler=_scheduler(plan),
        verify_scheduler=_scheduler(plan),
        should_shuffle_rewards=plan.settings["algorithm"]["shuffle_rewards"],
        owners={
            "scheduler": owner_of(plan.factories["scheduler"]),
            **{f"sampler.{one.name}": owner_of(one.sampler.ref) for one in plan.entries if one.sampler is not None},
        },
        audit=thresholds(plan),
    )


def stage_plans(
    stages: Sequence[Stage], trainer: Mapping[str, Any], registry: Registry | None = None
) -> tuple[StagePlan, ...]:
    """Return stages with what they leave out taken from the trainer's settings.

    Args:
        stages: Compiled.
        trainer: Settings of the group `trainer`.
        registry: What is installed; only needed where `until` calls a stage rule.

    Raises:
        ConfigError: a stage that has no step of its own, or a fall of the rate in a stage without a known end.
        PluginError: nobody offers a stage rule, or it refuses its arguments.
    """
    plans: list[StagePlan] = []
    begun, is_known = 0, True
    for stage in stages:
        # Behind a stage that only a rule ends, nobody knows at which step this one begins.
        end = last_step(stage.until) if is_known else None
        steps = 0 if end is None else end - begun
        if end is not None and steps < 1:
            raise ConfigError(
                "a stage must have a step of its own",
                got=f"an end at step {end}, reached at {begun}",
                at=f"stages.{stage.name}",
            )
        if stage.decay and not steps:
            raise ConfigError(
                "a stage with a decay must end at a known step", at=f"stages.{stage.name}", todo="Write `step >= N`"
            )
        begun += steps
        is_known &= steps > 0
        names = {call.function for call in rule_calls(stage.until)} if stage.until is not None else set()
        rules = {name: (registry or installed()).find("stage_rule", name).ref for name in sorted(names)}
        if stage.until is not None:
            Until(stage.until, rules)  # what it refuses is refused here, not in the coordinator
        plans.append(
            StagePlan(
                name=stage.name,
                kind=stage.kind,
                steps=steps,
                batch=stage.batch or trainer["batch"],
                lr=trainer["lr"] if stage.lr is None else stage.lr,
                warmup=stage.warmup,
                decay=stage.decay,
                share=stage.share,
                until=None if steps else stage.until,
                should_reset_optimizer=stage.reset_optimizer,
                rules=rules,
            )
        )
    return tuple(plans)


def _phases(plan: RunPlan) -> list[StageSpec | EvaluationSpec]:
    every = plan.settings["eval"]["every"]
    # Everything waits for the end of an evaluation; a run that trains must not wait for people.
    entries = [entry for entry in plan.entries if entry.tier != TIER or not plan.stages]
    tasks, samples = plan.settings["eval"]["tasks"], plan.settings["eval"].get("samples", 1)
    sizes = {entry.name: _num_rows(entry, "eval", tasks) for entry in entries}
    canaries = {entry.name: _num_rows(entry, "canary", tasks) for entry in entries if "canary" in entry.splits}

    def evaluation(name: str) -> EvaluationSpec:
        return EvaluationSpec(name, sizes, samples, canaries)

    phases: list[StageSpec | EvaluationSpec] = []
    has_begun_rl = False
    for number, stage in enumerate(plan.stages):
        if stage.kind == "rl" and not has_begun_rl:
            has_begun_rl = True
            phases.append(evaluation(BEFORE))
        elif number == 0:
            phases.append(evaluation(UNTRAINED))
        begun = sum(earlier.steps for earlier in plan.stages[:number])
        for part, steps in enumerate(_parts(stage, every)):
            if part:
                phases.append(evaluation(f"{stage.name}-{begun + part * every}"))
            phases.append(_stage(plan, stage, steps, is_first=part == 0))
    phases.append(evaluation(AFTER))
    return phases


def thresholds(plan: RunPlan) -> Thresholds:
    """Return when the audit of a run raises a finding."""
    return msgspec.convert(plan.settings.get("audit", {}), Thresholds)


def _parts(stage: StagePlan, every: int) -> list[int]:
    """Return the lengths a stage is cut into by evaluations; 0 where only a rule knows its length."""
    if every < 1 or not stage.steps:
        return [stage.steps]
    whole, rest = divmod(stage.steps, every)
    return [every] * whole + [rest] * (rest > 0)


def _stage(plan: RunPlan, stage: StagePlan, steps: int, is_first: bool) -> StageSpec:
    scheduler = plan.settings["scheduler"]
    return StageSpec(
        name=stage.name,
        kind=stage.kind,
        batch=stage.batch,
        steps=steps,
        until=None if stage.until is None else Until(stage.until, stage.rules),
        share=stage.share,
        max_staleness=scheduler["max_staleness"],
        # Nobody rolls out while demonstrations are imitated.
        publish_every=1 if stage.kind == "rl" else 0,
        checkpoint_every=plan.settings["trainer"]["checkpoint_every"],
        should_reset_optimizer=stage.should_reset_optimizer and is_first,
    )


def _entry(entry: EntryPlan) -> EntrySpec:
    group = entry.program.group
    return EntrySpec(
        name=entry.name,
        share=entry.share,
        group_size=group.size,
        min_scored=group.min_scored,
        sizes={split: plan.size for split, plan in entry.splits.items()},
        sources={split: plan.digest for split, plan in entry.splits.items()},
        tier=entry.tier,
        # Of a machine; what people take keeps nobody else from working.
        verify_s=0.01 if entry.tier == TIER else entry.verify_s,
        max_rollout_s=_MAX_ROLLOUT_S,
        max_verify_s=entry.max_verify_s,
        sampler=None if entry.sampler is None else entry.sampler.make(),
        unlock=None if entry.unlock is None else Rule(entry.unlock),
        levels=tuple(LevelSpec(level.name, level.size) for level in entry.splits["train"].levels),
        ranges=entry.ranges,
    )


def _inflight(plan: RunPlan, tier: str) -> int:
    limit = int(plan.settings["scheduler"]["max_inflight"])
    if tier != TIER:
        return limit
    largest = max(entry.program.group.size for entry in plan.entries if entry.tier == tier)
    return min(limit, max(_QUESTIONS, _QUESTION_GROUPS * largest))


def _num_rows(entry: EntryPlan, name: Split, wanted: int) -> int:
    split = entry.splits.get(name)
    return 0 if split is None else min(wanted, split.size)


def _scheduler(plan: RunPlan) -> Scheduler:
    """Return a scheduler of its own for one queue, since it may remember what it did."""
    scheduler: Scheduler = resolve(plan.factories["scheduler"])(**plan.settings["scheduler"]["options"])
    return scheduler


def _admit(rule: Expr | None) -> Admit:
    return (lambda rewards: True) if rule is None else AdmitRule(rule)
