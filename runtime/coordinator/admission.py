"""Admission: which entry gets the next group, within the credits, and the episodes of an evaluation."""

import hashlib
from collections import Counter, deque

from assay.core.blob import BlobRef
from assay.core.wire import Split
from assay.runtime.coordinator import audit, credit, feed, record, share
from assay.runtime.coordinator.instruction import Instruction
from assay.runtime.coordinator.lease import queue_rollout
from assay.runtime.coordinator.rule import holds
from assay.runtime.coordinator.spec import EntrySpec, StageSpec
from assay.runtime.coordinator.state import Episode, Evaluation, Group, Run
from assay.runtime.coordinator.transition import plan


def admit(run: Run, out: list[Instruction], stage: StageSpec) -> None:
    """Plan training groups while there are credits and tasks."""
    total = credit.total_credit(run, stage)
    if total <= 0:
        return
    weights = credit.shares(run, stage)
    open_entries = [
        entry
        for entry in run.entries.values()
        # What was unlocked once stays so.
        if weights[entry.name] > 0 and (entry.unlock is None or run.planned[entry.name] > 0 or holds(run, entry.unlock))
    ]
    share.aim(run, out, {entry.name: weights[entry.name] for entry in open_entries})
    for unlocked in open_entries:
        source = run.feed(unlocked.name, "train")
        feed.draw(run, source, feed.wanted(run, run.target[unlocked.name], stage.batch))
        feed.ask(run, out, source)
    pending = share.pending(run)
    while total > 0:
        entry = _most_behind(run, stage, open_entries, pending)
        if entry is None:
            return
        source = run.feed(entry.name, "train")
        for index, body in feed.take(run, out, source, 1):
            group = _group(run, out, entry, "train", index, body, entry.group_size)
            audit.plan(run, group)
            run.admitted[entry.name] = run.admitted.get(entry.name, 0) + 1
            if entry.unlock is not None and not run.planned[entry.name]:
                out.append(record.log("unlocked", f"{entry.name} at step {run.curriculum.trainer_step}", run.now_s))
            run.planned[entry.name] += 1
            pending[entry.name] += 1
            total -= 1
            for episode in group.episodes:
                queue_rollout(run, episode)


def evaluate(run: Run, out: list[Instruction], evaluation: Evaluation) -> None:
    """Plan the episodes of an evaluation as their tasks come to be; a row that failed is passed over."""
    for name, todo in evaluation.todo.items():
        _plan_tasks(run, out, evaluation, run.entries[name], "eval", todo)
    for name, todo in evaluation.canaries.items():
        _plan_tasks(run, out, evaluation, run.entries[name], "canary", todo)


def _plan_tasks(
    run: Run, out: list[Instruction], evaluation: Evaluation, entry: EntrySpec, split: Split, todo: deque[int]
) -> None:
    if not todo:
        return
    source = run.feed(entry.name, split)
    while todo:
        index = todo[0]
        if index in source.failed or index in source.quarantined:
            todo.popleft()
        elif index in source.ready:
            todo.popleft()
            group = _group(run, out, entry, split, index, source.ready[index], evaluation.samples, evaluation)
            evaluation.num_open += 1
            for episode in group.episodes:
                queue_rollout(run, episode)
        else:
            break
    feed.ask(run, out, source, iter(todo))


def _most_behind(run: Run, stage: StageSpec, entries: list[EntrySpec], pending: Counter[str]) -> EntrySpec | None:
    """Return the entry whose share lags most behind its target, among those with a credit and a task.

    While one that is further behind waits for its tasks, nobody gets ahead of its target by more than its part of a
    batch: what the first sources to answer took at the start, they would owe for long in a mix of many entries.
    """
    units = {entry.name: share.expected(run, entry, pending[entry.name]) for entry in entries}
    total = sum(units.values()) + min((share.group_units(run, entry) for entry in entries), default=0.0)
    lags = {entry.name: run.target[entry.name] * total - units[entry.name] for entry in entries}
    is_waiting = False
    for entry in sorted(entries, key=lambda entry: lags[entry.name], reverse=True):
        if credit.entry_credit(run, stage, entry) < 1:
            continue
        source = run.feed(entry.name, "train")
        if feed.num_ready(source):
            lead = max(1.0, run.target[entry.name] * stage.batch) * share.group_units(run, entry)
            return None if is_waiting and lags[entry.name] < -lead else entry
        is_waiting |= bool(source.ahead)
    return None


def _group(
    run: Run,
    out: list[Instruction],
    entry: EntrySpec,
    split: Split,
    index: int,
    body: BlobRef,
    size: int,
    evaluation: Evaluation | None = None,
) -> Group:
    visible = run.curriculum.visible
    assert visible is not None
    group = Group(
        run.next_group,
        entry,
        split,
        index,
        feed.task_ref(run.feed(entry.name, split), index),
        body,
        "train" if evaluation is None else "evaluate",
        run.curriculum.phase if evaluation is None else -1,
        "" if evaluation is None else evaluation.name,
        visible.version,
    )
    run.next_group += 1
    run.groups[group.number] = group
    run.dirty_groups[group.number] = group
    for sibling in range(size):
        episode = Episode(run.next_episode, group, sibling, _seed(run, run.next_episode), run.now_s)
        run.next_episode += 1
        plan(run, episode)
        out.append(record.planned(episode))
    return group


def _seed(run: Run, episode: int) -> int:
    """Return the sampler's seed of an episode: 63 bits that no other episode of any run shares by design."""
    return int.from_bytes(hashlib.blake2b(f"{run.spec.seed}:{episode}".encode(), digest_size=8).digest()) >> 1
