"""How many training groups may be in the pipeline: counted here and nowhere else.

    groups admitted in a stage and not dropped <= (max_staleness + version + 1) * batch

where `version` is the number of the stage's steps whose weights rollout workers already use. Groups admitted under a
version can then all be consumed before their staleness bound, so a slow one is waited for and never dropped. Where a
tier has a bound of its own, each tier gets the same formula with its share of the groups; since its groups are due at
other steps than their neighbours, each admission also asks whether all that is due by any step still fits into the
batches until then. People are waited for otherwise; see `patience`.
"""

import math
from collections import Counter
from collections.abc import Iterable

from assay.runtime.coordinator.patience import is_patient, num_asked
from assay.runtime.coordinator.share import group_shares
from assay.runtime.coordinator.spec import EntrySpec, StageSpec
from assay.runtime.coordinator.state import Group, Run

# Later than any step: what waits for people is never due.
NEVER = 1 << 40


def max_staleness(run: Run, stage: StageSpec, tier: str) -> int:
    """Return the staleness bound of a tier in a stage, in updates."""
    own = run.spec.tiers[tier].max_staleness if tier in run.spec.tiers else None
    return stage.max_staleness if own is None else own


def shares(run: Run, stage: StageSpec) -> dict[str, float]:
    """Return the target share of each entry of a stage, summing to 1."""
    weights = {name: stage.share.get(name, 0.0) if stage.share else entry.share for name, entry in run.entries.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def stage_version(run: Run) -> int:
    """Return how many steps of the present stage rollout workers have seen; below 0 after a fall back before it."""
    visible = run.curriculum.visible
    return 0 if visible is None else visible.version.step - run.curriculum.start_step


def total_credit(run: Run, stage: StageSpec) -> int:
    """Return how many more groups the stage may admit, over all entries."""
    bound = max(max_staleness(run, stage, entry.tier) for entry in run.entries.values())
    limit = (bound + stage_version(run) + 1) * stage.batch
    if stage.steps:
        limit = min(limit, stage.steps * stage.batch)
    return limit - sum(run.admitted.values()) + num_asked(run)


def entry_credit(run: Run, stage: StageSpec, entry: EntrySpec) -> int:
    """Return how many more groups of an entry the stage may admit, by its own count, its tier's bound and its room."""
    version = stage_version(run)
    bound = max_staleness(run, stage, entry.tier)
    if stage.per_entry:
        count = stage.per_entry.get(entry.name, 0)
        limit = (bound + version + 1) * count
        credit = (min(limit, stage.steps * count) if stage.steps else limit) - run.admitted.get(entry.name, 0)
    elif _has_bounds(run, stage):
        by_group = group_shares(run)
        peers = [other.name for other in run.entries.values() if other.tier == entry.tier]
        share = sum(by_group[name] for name in peers)
        credit = math.ceil((bound + version + 1) * stage.batch * share - 1e-9) - _admitted(run, peers)
    else:
        # With one bound for all, whoever is most behind is next, and the mix needs no limit per tier.
        credit = total_credit(run, stage)
    if credit > 0 and _has_bounds(run, stage) and not _fits(run, stage, entry):
        credit = 0
    tier = run.spec.tiers.get(entry.tier)
    if tier is not None and tier.inflight is not None:
        room = tier.inflight - run.tier_inflight.get(entry.tier, 0)
        credit = min(credit, room // entry.group_size)
    return credit


def due(run: Run, stage: StageSpec, group: Group) -> int:
    """Return the last step that may consume a group: its weights are at least as new as when it was admitted.

    One that waits for people, or has waited for them, has no such step.
    """
    if is_patient(group.entry):
        return NEVER
    return group.oldest.step + max_staleness(run, stage, group.entry.tier) + 1


def can_consume(dues: Iterable[int], after: int, batch: int, since: int = 0) -> bool:
    """Whether groups due at these steps fit into batches of `batch` groups from step `after + 1` on.

    Only what is due at step `since` or later is asked for: an admission answers for nothing that was there before.
    """
    total = 0
    for step, number in sorted(Counter(dues).items()):
        total += number
        if step >= since and total > (step - after) * batch:
            return False
    return True


def _has_bounds(run: Run, stage: StageSpec) -> bool:
    return any(tier.max_staleness not in (None, stage.max_staleness) for tier in run.spec.tiers.values())


def _fits(run: Run, stage: StageSpec, entry: EntrySpec) -> bool:
    """Whether one more group of an entry leaves every group consumable by the step it is due at."""
    at = run.curriculum
    if at.visible is None:
        return False
    mine = at.visible.version.step + max_staleness(run, stage, entry.tier) + 1
    waiting = [group for group in run.groups.values() if group.stage == at.phase and group.state != "batched"]
    return can_consume([mine, *(due(run, stage, group) for group in waiting)], at.frontier, stage.batch, since=mine)


def _admitted(run: Run, names: Iterable[str]) -> int:
    return sum(run.admitted.get(name, 0) for name in names)
