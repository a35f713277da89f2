"""Batches: formed once per step, the same for every attempt at it, in every lineage.

Staleness at consumption is bounded by waiting: a batch is not formed while it would leave behind more groups than the
batches up to the step they are due at can hold. So the trainer waits for a slow group instead of dropping it, and
quick ones do not jump ahead of it for ever. What people have answered goes first, as far as that makes no other group
late.
"""

import random
from collections.abc import Iterable

import msgspec

from assay.core.group import Batch, DemonstrationRef, Sibling
from assay.core.group import Group as TrainGroup
from assay.core.trajectory import WeightVersion
from assay.core.wire import BatchReady, Split
from assay.runtime.coordinator import credit, feed, record, share
from assay.runtime.coordinator.instruction import Instruction
from assay.runtime.coordinator.patience import is_patient
from assay.runtime.coordinator.spec import EvaluationSpec, StageSpec
from assay.runtime.coordinator.state import Group, Run, TakenBatch
from assay.runtime.coordinator.transition import step as move


def form(run: Run, out: list[Instruction], stage: StageSpec) -> TakenBatch | None:
    """Form the batch of the next step; None while it must wait."""
    at = run.curriculum
    step = at.frontier + 1
    body = _demonstrations(run, out, stage, step) if stage.kind == "sft" else _groups(run, stage, step)
    if body is None:
        return None
    taken = TakenBatch(body, at.phase, step - at.start_step)
    at.frontier = step
    run.first_batch_s = run.first_batch_s or run.now_s
    run.batches[step] = taken
    out.append(record.batch(step, taken, run.now_s))
    if body.shuffled:
        out.append(
            record.log("rewards_shuffled", f"step {step}: permuted inside each of {len(body.groups)} groups", run.now_s)
        )
    return taken


def answer(run: Run, step: int) -> BatchReady:
    """Return what a `Take` of a formed batch is answered with."""
    taken = run.batches[step]
    stage = run.spec.phases[taken.stage]
    assert isinstance(stage, StageSpec)
    following = run.batches.get(step + 1)
    is_last = taken.stage_step == stage.steps or (following is not None and following.stage != taken.stage)
    is_due = stage.publish_every > 0 and taken.stage_step % stage.publish_every == 0
    return BatchReady(
        taken.batch,
        run.curriculum.lineage,
        stage.kind,
        taken.stage_step,
        stage.steps,
        stage.should_reset_optimizer and taken.stage_step == 1,
        # Two versions can be read at a time: while an evaluation pins one, only the stage's last may follow it.
        is_last or (is_due and run.open_evaluation is None),
        is_last or (stage.checkpoint_every > 0 and taken.stage_step % stage.checkpoint_every == 0),
    )


def commit(run: Run, taken: TakenBatch) -> None:
    """Mark the episodes of a batch as trained; a batch of a former lineage was already."""
    if taken.is_committed:
        return
    taken.is_committed = True
    for body in taken.batch.groups:
        group = run.groups.pop(body.group)
        tally = run.tallies[group.entry.name]
        tokens = 0
        for episode in group.episodes:
            if episode.state == "batched":
                move(run, episode, "trained")
                tally.trained_episodes += 1
                tally.trained_tokens += episode.trained_tokens
                run.trained_tokens += episode.trained_tokens
                share.charge(run, group, "episodes", 1.0)
                share.charge(run, group, "trained_tokens", episode.trained_tokens)
                tokens += episode.tokens
        share.close(run, group, is_trained=True)
        tally.unit_groups += 1
        tally.unit_sum += tokens
        group.state = "trained"
        run.dirty_groups[group.number] = group


def _groups(run: Run, stage: StageSpec, step: int) -> Batch | None:
    chosen = _choose(run, stage, step)
    if chosen is None:
        return None
    groups = tuple(_body(run, group) for group in chosen)
    for position, group in enumerate(chosen):
        group.state, group.step, group.position = "batched", step, position
        del run.ready[group.number]
        run.dirty_groups[group.number] = group
        for episode in group.episodes:
            if episode.state == "grouped":
                move(run, episode, "batched")
                assert episode.version is not None
                lag = max(0, step - 1 - episode.version.step)
                run.lag_sum += lag
                run.lag_n += 1
                run.lag_max = max(run.lag_max, lag)
        if credit.due(run, stage, group) < step:
            run.count("over_stale")
    return Batch(step, stage.name, groups, shuffled=run.spec.should_shuffle_rewards)


def _choose(run: Run, stage: StageSpec, step: int) -> list[Group] | None:
    """Return the groups of a step, those due first before others; None while too few are ready or others must come."""
    if len(run.ready) < stage.batch:
        return None
    ready = sorted(run.ready.values(), key=lambda group: (credit.due(run, stage, group), group.number))
    others = [group for group in ready if not is_patient(group.entry)]
    people = ready[len(others) :]  # they are never due
    for number in range(min(stage.batch, len(people)), 0, -1):
        chosen = _take(run, stage, step, [*people[:number], *others, *people[number:]], is_strict=True)
        if chosen is not None:
            return chosen
    return _take(run, stage, step, ready)


def _take(run: Run, stage: StageSpec, step: int, ready: list[Group], *, is_strict: bool = False) -> list[Group] | None:
    """Return the first groups of `ready`; None while others must come before or beside them.

    With `is_strict` also where nothing more comes and some of the rest would be late.
    """
    own = [group for group in run.groups.values() if group.stage == run.curriculum.phase and group.state != "batched"]
    counts: list[tuple[str | None, int]] = [*stage.per_entry.items()] or [(None, stage.batch)]
    chosen: list[Group] = []
    for name, count in counts:
        first = [group for group in ready if name in (None, group.entry.name)][:count]
        if len(first) < count:
            return None
        taken = {group.number for group in first}
        left = [group for group in own if name in (None, group.entry.name) and group.number not in taken]
        # People may take hours; the trainer never waits for them.
        is_waiting = any(group.state == "open" and not is_patient(group.entry) for group in left)
        dues = (credit.due(run, stage, group) for group in left)
        if (is_waiting or is_strict) and not credit.can_consume(dues, step, count):
            return None
        chosen.extend(first)
    return sorted(chosen, key=lambda group: group.number)


def _body(run: Run, group: Group) -> TrainGroup:
    siblings = []
    for episode in group.episodes:
        if episode.state == "grouped":
            assert episode.reward is not None
            assert episode.trajectory is not None
            siblings.append(
                Sibling(episode.number, episode.reward, episode.trajectory, episode.version or WeightVersion(0, 0))
            )
    if run.spec.should_shuffle_rewards:
        siblings = list(_shuffled(siblings, f"{run.spec.seed}:shuffle:{group.number}"))
    return TrainGroup(group.number, group.entry.name, group.ref, tuple(siblings))


def _shuffled(siblings: list[Sibling], seed: str) -> Iterable[Sibling]:
    """Permute the rewards; the siblings themselves stay in order."""
    rewards = [sibling.reward for sibling in siblings]
    random.Random(seed).shuffle(rewards)
    return (msgspec.structs.replace(sibling, reward=reward) for sibling, reward in zip(siblings, rewards, strict=True))


def _demonstrations(run: Run, out: list[Instruction], stage: StageSpec, step: int) -> Batch | None:
    """Return the next demonstrations, entries by largest lag behind their share; None while bodies are missing."""
    weights = {
        name: value
        for name, value in credit.shares(run, stage).items()
        if value > 0 and feed.num_usable(run.feed(name, "demos")) > 0
    }
    if not weights:
        return None
    total = sum(weights.values())
    used = dict(run.demos_used)
    counts = stage.per_entry or dict.fromkeys(weights, 0)
    if not stage.per_entry:
        for _ in range(stage.batch):
            done = sum(used.get(name, 0) for name in weights) + 1
            name = max(weights, key=lambda name: weights[name] / total * done - used.get(name, 0))
            used[name] = used.get(name, 0) + 1
            counts[name] += 1
    is_ready = True
    for name, count in counts.items():
        source = run.feed(name, "demos")
        feed.draw(run, source, max(count, feed.wanted(run, weights[name], stage.batch)))
        feed.ask(run, out, source)
        is_ready &= feed.num_ready(source) >= count
    if not is_ready:
        return None
    demonstrations: list[DemonstrationRef] = []
    for name, count in counts.items():
        source = run.feed(name, "demos")
        taken = [
            DemonstrationRef(name, feed.task_ref(source, index), body)
            for index, body in feed.take(run, out, source, count)
        ]
        demonstrations.extend(taken)
        run.demos_used[name] = run.demos_used.get(name, 0) + len(taken)
    return Batch(step, stage.name, (), tuple(demonstrations))


def prefetch(run: Run, out: list[Instruction]) -> None:
    """Ask for what the present stage and the evaluations to come will need, as far as it can be known."""
    for phase in run.spec.phases[run.curriculum.phase :]:
        if isinstance(phase, EvaluationSpec):
            for name, size in phase.sizes.items():
                feed.ask(run, out, run.feed(name, "eval"), iter(range(size)))
            for name, size in phase.canaries.items():
                feed.ask(run, out, run.feed(name, "canary"), iter(range(size)))
            continue
        split: Split = "demos" if phase.kind == "sft" else "train"
        for name, part in credit.shares(run, phase).items():
            if part > 0 and (split == "train" or run.entries[name].sizes.get("demos", 0)):
                source = run.feed(name, split)
                if not source.ahead:
                    feed.draw(run, source, feed.wanted(run, part, phase.batch))
                feed.ask(run, out, source)
