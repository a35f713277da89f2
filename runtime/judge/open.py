"""From the group `judge` of a configuration to a judge that can be asked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.registry import Registry, resolve
from assay.runtime.judge.host import JudgeHost, Patience
from assay.runtime.run.plan import RunPlan
from assay.runtime.verify.host import no_judge

NONE = "none"


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


def open_judge(plan: RunPlan, cache: Path | None = None) -> JudgeHost | None:
    """Return the judge of a plan; None where none of its verifiers asks one.

    Args:
        plan: With its judge attached.
        cache: File of replies; None keeps them in memory.

    Raises:
        ConfigError: the judge refuses its settings, such as a key that is not in the environment.
        PluginError: its package cannot be loaded here.
    """
    ref = plan.factories.get("judge")
    if ref is None or not any(entry.judged for entry in plan.entries):
        return None
    settings = plan.settings["judge"]
    make = resolve(ref)
    return JudgeHost(
        lambda: make(**settings["options"]),
        name=ref,
        patience=Patience(
            concurrency=settings["concurrency"],
            timeout_s=settings["timeout_s"],
            retries=settings["retries"],
            patience_s=settings["patience_s"],
        ),
        cache=cache,
        should_cache=settings["cache"],
    )
