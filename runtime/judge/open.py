"""From the group `judge` of a configuration to a judge that can be asked."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.error import ConfigError
from assay.core.judge import JudgeBackend
from assay.core.registry import Registry, resolve
from assay.runtime.judge.host import JudgeHost, Patience
from assay.runtime.run.plan import RunPlan
from assay.runtime.verify.refusal import no_judge

NONE = "none"
NOBODY: Mapping[str, Any] = {"name": NONE, "options": {}}
_PREFLIGHT_S = 20.0


def attach_judge(plan: RunPlan, judge: Mapping[str, Any], registry: Registry) -> RunPlan:
    """Return a plan whose verifiers have the chosen judge, and the time to wait for it.

    Args:
        plan: Of a run.
        judge: Settings of the group, as plain values.
        registry: What is installed.

    Raises:
        ConfigError: a verifier asks a judge and none is chosen.
        PluginError: nobody offers the chosen one.
    """
    asking = {entry.name: entry.judged for entry in plan.entries if entry.judged}
    if judge["name"] == NONE:
        for name, leaves in asking.items():
            raise no_judge(leaves[0], f"mix.{name}")
        return plan
    # A question lives through an outage and one more try; limits of the verification itself come on top.
    waiting_s = judge["patience_s"] + judge["timeout_s"]
    return msgspec.structs.replace(
        plan,
        settings={**plan.settings, "judge": dict(judge)},
        factories={**plan.factories, "judge": registry.find("judge", judge["name"]).ref},
        entries=tuple(
            msgspec.structs.replace(entry, max_verify_s=entry.max_verify_s + waiting_s) if entry.judged else entry
            for entry in plan.entries
        ),
    )


def open_judge(plan: RunPlan, cache: Path | None = None, *, is_preflight: bool = False) -> JudgeHost | None:
    """Return the judge of a plan; None where none of its verifiers asks one.

    Args:
        plan: With its judge attached.
        cache: File of replies; None keeps them in memory.
        is_preflight: Nothing has started yet, so that an outage is reported instead of waited out.

    Raises:
        ConfigError: the judge refuses its settings, such as a key that is not in the environment.
        PluginError: its package cannot be loaded here.
    """
    ref = plan.factories.get("judge")
    if ref is None or not any(entry.judged for entry in plan.entries):
        return None
    return make_host(ref, plan.settings["judge"], cache, is_preflight=is_preflight)


def choose_judge(
    judged: Sequence[str],
    judge: Mapping[str, Any],
    registry: Registry,
    cache: Path | None = None,
    *,
    is_preflight: bool = False,
) -> JudgeHost | None:
    """Return the chosen judge for verifiers that no plan holds; None where none of them asks one.

    Args:
        judged: Names of verifiers that ask a judge.
        judge: Settings of the group, as plain values.
        registry: What is installed.
        cache: File of replies; None keeps them in memory.
        is_preflight: Nothing has started yet, so that an outage is reported instead of waited out.

    Raises:
        ConfigError: one asks, and none is chosen; or the judge refuses its settings.
        PluginError: nobody offers the chosen one.
    """
    if not judged:
        return None
    if judge["name"] == NONE:
        raise no_judge(judged[0])
    ref = registry.find("judge", judge["name"]).ref
    return make_host(ref, judge, cache, purpose="regrade", is_preflight=is_preflight)


def is_same_judge(one: Mapping[str, Any], other: Mapping[str, Any], registry: Registry) -> bool:
    """Whether replies of two judges are worth the same: one name and one identity.

    Prices, keys and patience change no reply. Where nobody is chosen there are no others.

    Args:
        one: Settings of the group `judge`, as plain values.
        other: Likewise.
        registry: What is installed.

    Raises:
        PluginError: nobody offers it.
    """
    if NONE in (one["name"], other["name"]) or (one["name"], one["options"]) == (other["name"], other["options"]):
        return True
    if one["name"] != other["name"]:
        return False
    make = resolve(registry.find("judge", one["name"]).ref)

    async def identity(settings: Mapping[str, Any]) -> str:
        judge: JudgeBackend = make(**settings["options"])
        try:
            return judge.identity
        finally:
            await judge.close()

    try:
        return asyncio.run(identity(one)) == asyncio.run(identity(other))
    except ConfigError:
        # The run's own is no more what it was, such as its key: nobody can say that they are the same.
        return False


def make_host(
    ref: str,
    settings: Mapping[str, Any],
    cache: Path | None = None,
    *,
    purpose: str = "run",
    is_preflight: bool = False,
) -> JudgeHost:
    """Return a host that asks the judge behind a reference."""
    make = resolve(ref)
    return JudgeHost(
        lambda: make(**settings["options"]),
        name=ref,
        patience=Patience(
            concurrency=settings["concurrency"],
            timeout_s=settings["timeout_s"],
            retries=settings["retries"],
            patience_s=min(settings["patience_s"], _PREFLIGHT_S) if is_preflight else settings["patience_s"],
        ),
        cache=cache,
        should_cache=settings["cache"],
        purpose="preflight" if is_preflight else purpose,
    )
