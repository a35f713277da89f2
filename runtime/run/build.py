"""From compiled domains and settings to the plan of a run: what is resolved once, in the parent, for all workers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.digest import digest
from assay.core.error import AssayError, ConfigError, DataError
from assay.core.launcher import Launch
from assay.core.leaf import Verifier
from assay.core.registry import Registry, resolve
from assay.core.wire import Split
from assay.dsl.compile import Compiled
from assay.dsl.expr.node import Expr
from assay.dsl.leaf import call_arguments
from assay.dsl.mix import Curriculum
from assay.dsl.program import Program, Rows, Use
from assay.runtime.config.option import parameters
from assay.runtime.config.setting import LauncherSettings, Settings, TrackerSettings
from assay.runtime.judge.open import attach_judge
from assay.runtime.policy.choice import chat_name
from assay.runtime.review.question import check_people
from assay.runtime.run.coordination import stage_plans
from assay.runtime.run.environment import threads_for
from assay.runtime.run.plan import Counts, EntryPlan, FactoryPlan, LevelPlan, RunPlan, SplitPlan
from assay.runtime.sandbox.open import attach_sandbox, needs_of
from assay.runtime.source.level import climb
from assay.runtime.stage.source import describe, open_part, open_source
from assay.runtime.strategy.sight import make_strategy
from assay.runtime.verify.grade import mode_of

FACTORIES = ("engine", "trainer", "algorithm", "scheduler", "store", "launcher")
_SPLITS: tuple[Split, ...] = ("train", "eval", "demos", "canary")


def build_plan(
    curriculum: Curriculum,
    domains: Mapping[str, Compiled],
    settings: Settings,
    registry: Registry,
    policy: Path,
) -> RunPlan:
    """Return the plan of a run.

    Args:
        curriculum: Compiled.
        domains: By mix entry.
        settings: Everything but curriculum and domains.
        registry: What is installed.
        policy: Folder of weights and tokenizer at the start.

    Raises:
        AssayError: see `build_entry`; a rule, sampler or stage that this runtime cannot keep.
    """
    groups: dict[str, dict[str, Any]] = msgspec.to_builtins(settings)
    if curriculum.advantage == "per_domain":
        _scope_by_domain(groups["algorithm"], registry)
    launcher = settings.launcher
    _check_launcher(launcher, registry)
    plan = RunPlan(
        name=settings.run.name or curriculum.name,
        seed=settings.run.seed,
        entries=tuple(
            build_entry(
                name,
                entry.share,
                domains[name],
                registry,
                entry.unlock,
                entry.sampler or curriculum.sampler,
                curriculum.levels.get(name),
            )
            for name, entry in curriculum.mix.items()
        ),
        stages=stage_plans(curriculum.stages, groups["trainer"], registry),
        policy=str(policy),
        settings=groups,
        factories={**factory_refs(groups, registry), "chat_format": _chat_ref(settings, registry)},
        counts=Counts(
            source=launcher.sources,
            rollout=launcher.rollouts,
            verify=launcher.verifiers,
            update=launcher.trainers,
            threads=threads_for(launcher.rollouts + launcher.trainers, launcher.threads),
        ),
        balance=curriculum.balance,
        admit=curriculum.admit,
        trackers=_trackers(settings.tracker, registry),
    )
    plan = attach_sandbox(attach_judge(plan, groups["judge"], registry), groups["sandbox"], registry)
    make_strategy(plan)  # what it refuses is refused here, not after the evaluation
    return plan


def build_entry(
    name: str,
    share: float,
    compiled: Compiled,
    registry: Registry,
    unlock: Expr | None = None,
    sampler: Use | None = None,
    levels: Mapping[str, Any] | None = None,
) -> EntryPlan:
    """Return one entry of the mix with everything its domain names resolved.

    Args:
        name: Of the entry.
        share: Target share.
        compiled: Its domain.
        registry: What is installed.
        unlock: Rule before which it is not played.
        sampler: Call of a registered sampler; None walks through all tasks.
        levels: Values of difficulty attributes of the training source, from easy to hard.

    Raises:
        SourceError: the domain has findings.
        PluginError: a leaf cannot be found by a worker.
        DataError: a source does not open, or has no rows.
        ConfigError: the domain needs what this runtime does not have.
    """
    program = compiled.require()
    _check_supported(name, program)
    check_people(program, f"mix.{name}")
    verifiers: dict[str, Verifier] = {
        verify.use.leaf: registry.find("verifier", verify.use.leaf).value for verify in program.verify.values()
    }
    leaves = {leaf: registry.find("verifier", leaf).ref for leaf in verifiers}
    if program.answer is not None:
        leaves[program.answer.leaf] = registry.find("parser", program.answer.leaf).ref
    splits: dict[Split, SplitPlan] = {
        split: _split(program, split, compiled.base, registry) for split in _SPLITS if split in program.data
    }
    if levels:
        splits["train"] = _levelled(program, splits["train"], levels, f"levels.{name}")
    uses = [verifiers[verify.use.leaf] for verify in program.verify.values()]
    return EntryPlan(
        name=name,
        share=share,
        program=program,
        splits=splits,
        leaves=leaves,
        functions={name: registry.find("function", name).ref for name in program.reward.functions},
        modes={leaf: mode_of(verifier) for leaf, verifier in verifiers.items()},
        tier=compiled.facts.tier if compiled.facts is not None else "auto",
        verify_s=compiled.facts.cost_s if compiled.facts is not None else 0.01,
        max_verify_s=30.0 + sum(verifier.timeout_s * (1 + verifier.on_error.retries) for verifier in uses),
        unlock=unlock,
        sampler=None if sampler is None else _sampler(sampler, registry),
        base=str(compiled.base),
        judged=tuple(leaf for leaf, verifier in verifiers.items() if verifier.asks_judge),
        price_usd=None if compiled.facts is None else compiled.facts.price_usd,
        needs=needs_of(program, verifiers.values()),
        ranges={} if compiled.facts is None else {name: one.ends for name, one in compiled.facts.terms.items()},
    )


def factory_refs(settings: Mapping[str, Mapping[str, Any]], registry: Registry) -> dict[str, str]:
    """Return what makes engine, trainer, algorithm, scheduler, store and launcher, as processes find it.

    Raises:
        PluginError: nobody offers one of the names.
    """
    refs = {kind: registry.find(kind, settings[kind]["name"]).ref for kind in FACTORIES}
    strategy = settings["eval"]["strategy"]
    return refs if strategy == "none" else {**refs, "strategy": registry.find("strategy", strategy).ref}


def _chat_ref(settings: Settings, registry: Registry) -> str:
    """Return what makes the policy's chat format; a policy that is still to be made gets the plain one."""
    path, wanted = settings.policy.path, settings.policy.chat_format
    name = (wanted or "plain") if path is None else chat_name(Path(path), wanted)
    return registry.find("chat_format", name).ref


def _scope_by_domain(algorithm: dict[str, Any], registry: Registry) -> None:
    """Let the algorithm normalise over all groups of a domain; it takes the argument `scope` for that."""
    known = parameters(registry.find("algorithm", algorithm["name"]).value)
    if known is not None and "scope" not in known:
        raise ConfigError(
            "an algorithm must take a `scope` where advantages are per domain", got=algorithm["name"], at="advantage"
        )
    if algorithm["options"].get("scope", "domain") != "domain":
        raise ConfigError(
            "advantages must have one scope",
            got=f"algorithm.scope={algorithm['options']['scope']}",
            at="advantage: per_domain",
        )
    if algorithm["options"].get("normalize") is False:
        raise ConfigError(
            "advantages per domain must be normalised", got="algorithm.normalize=false", at="advantage: per_domain"
        )
    algorithm["options"]["scope"] = "domain"


def _sampler(use: Use, registry: Registry) -> FactoryPlan:
    plan = FactoryPlan(registry.find("sampler", use.leaf).ref, call_arguments(use, {})[1])
    plan.make()  # what it refuses is refused here, not in the coordinator
    return plan


def _trackers(tracker: TrackerSettings, registry: Registry) -> dict[str, FactoryPlan]:
    """Return the trackers of a run by name; what one refuses is refused here, its process would only fail."""
    wanted = {} if tracker.name == "none" else {tracker.name: tracker.options}
    wanted |= tracker.also
    plans = {}
    for name, options in wanted.items():
        plans[name] = FactoryPlan(registry.find("tracker", name).ref, options)
        _try(plans[name].make, f"tracker `{name}`")
    return plans


def _check_launcher(launcher: LauncherSettings, registry: Registry) -> None:
    """Refuse options that the launcher refuses, before there is anything to launch."""
    make = resolve(registry.find("launcher", launcher.name).ref)
    _try(lambda: make(Launch(Path(), "", ()), **launcher.options), f"launcher `{launcher.name}`")


def _try(make: Callable[[], object], at: str) -> None:
    """Make something that does nothing yet, to see whether its options can be meant."""
    try:
        make()
    except AssayError:
        raise
    except Exception as error:
        raise ConfigError(f"a {at.partition(' ')[0]} must be made", got=describe(error), at=at) from error


def _check_supported(name: str, program: Program) -> None:
    if program.episode.tools or (program.episode.max_turns or 1) > 1:
        raise ConfigError(
            "a domain must have episodes of one turn without tools here",
            got=f"tools {', '.join(program.episode.tools) or 'none'}, max_turns {program.episode.max_turns}",
            at=f"mix.{name}",
        )


def _split(program: Program, split: Split, base: Path, registry: Registry) -> SplitPlan:
    data = program.data[split]
    where = f"{program.identity} data.{split}"
    if isinstance(data, Rows):
        plan = SplitPlan(len(data.rows), digest([split, data]))
    else:
        ref = registry.find("source", data.leaf).ref
        plan = SplitPlan(0, digest([split, data, program.params_of(data), _files(data, base)]), ref, str(base))
        try:
            plan = SplitPlan(len(open_source(program, split, plan)), plan.digest, ref, str(base))
        except Exception as error:
            raise DataError("a source must open", got=describe(error), at=where) from error
    if plan.size < 1:
        raise DataError("a source must have rows", got="none", at=where)
    return plan


def _levelled(program: Program, plan: SplitPlan, attributes: Mapping[str, Any], at: str) -> SplitPlan:
    """Return the training rows of all levels; each is opened once, to know that it can be and how many it has."""
    levels = []
    for arguments in climb(attributes):
        level = LevelPlan(arguments, 1)
        try:
            size = len(open_part(program, "train", plan, arguments))
        except Exception as error:
            raise DataError(
                "a source must open at every level", got=describe(error), at=f"{at}: {level.name}"
            ) from error
        if size < 1:
            raise DataError("a source must have rows at every level", got="none", at=f"{at}: {level.name}")
        levels.append(LevelPlan(arguments, size))
    return msgspec.structs.replace(
        plan,
        size=sum(level.size for level in levels),
        digest=digest([plan.digest, [(level.arguments, level.size) for level in levels]]),
        levels=tuple(levels),
    )


def _files(use: Use, base: Path) -> list[tuple[str, int]]:
    """Return name and size of local files that a call names, so that another file is another source."""
    found = []
    for argument in use.arguments:
        text = getattr(argument.value, "value", None)
        if isinstance(text, str) and text and (path := base / text).is_file():
            found.append((text, path.stat().st_size))
    return found
