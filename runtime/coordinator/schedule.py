"""Scheduling: shows a queue and the free slots to the scheduler, checks what it says and leases accordingly."""

from collections import Counter
from collections.abc import Mapping
from itertools import islice

from assay.core.error import AssayError, PluginError
from assay.core.scheduler import Assignment, Scheduler, Slot, View, Waiting
from assay.core.wire import LeaseEpisode, LeaseVerify, Role
from assay.runtime.coordinator import curriculum, lease, share
from assay.runtime.coordinator.instruction import Instruction, Send
from assay.runtime.coordinator.state import Run, Worker
from assay.runtime.coordinator.transition import step

# A scheduler sees at least this many items of the head of a queue; more would cost time at every drain.
WINDOW = 64


def schedule_rollouts(run: Run, out: list[Instruction]) -> None:
    """Lease waiting episodes to rollout workers; an evaluation goes first."""
    at = run.curriculum
    queue = run.rollout_queue
    if not queue or at.visible is None or run.is_draining:
        return
    slots, workers = _slots(run, "rollout")
    if not slots:
        return
    visible = run.curriculum.visible
    waiting = [
        item
        for item in _head(run.spec.rollout_scheduler, queue, slots)
        if visible is None or not curriculum.is_behind(run, run.episodes[item.item].group, visible.version)
    ]
    if run.open_evaluation is not None:
        evaluated = [item for item in queue.values() if run.episodes[item.item].group.purpose == "evaluate"]
        waiting = evaluated or waiting
    for given in _pick(run, run.spec.rollout_scheduler, "rollout", queue, waiting, slots):
        episode = run.episodes[given.item]
        worker = workers[given.worker]
        group = episode.group
        del queue[given.item]
        granted = lease.grant(run, worker, group.entry.max_rollout_s, episode)
        episode.oldest = at.visible.version
        step(run, episode, "rolling")
        pinned = run.evaluations[group.evaluation].version if group.purpose == "evaluate" else None
        order = LeaseEpisode(
            granted.number,
            episode.number,
            group.number,
            episode.sibling,
            group.entry.name,
            group.ref,
            group.body,
            episode.seed,
            pinned or episode.oldest,
            pinned,
            group.entry.max_rollout_s,
        )
        out.append(Send(worker.peer, order))


def schedule_verifications(run: Run, out: list[Instruction]) -> None:
    """Lease waiting episodes to verify workers."""
    queue = run.verify_queue
    if not queue:
        return
    slots, workers = _slots(run, "verify")
    if not slots:
        return
    scheduler = run.spec.verify_scheduler
    for given in _pick(run, scheduler, "verify", queue, _head(scheduler, queue, slots), slots):
        episode = run.episodes[given.item]
        worker = workers[given.worker]
        group = episode.group
        del queue[given.item]
        granted = lease.grant(run, worker, group.entry.max_verify_s, episode, group.entry.needs)
        step(run, episode, "verifying")
        assert episode.trajectory is not None
        order = LeaseVerify(
            granted.number,
            episode.number,
            group.entry.name,
            group.entry.tier,
            group.body,
            episode.trajectory,
            group.entry.max_verify_s,
        )
        out.append(Send(worker.peer, order))


def _slots(run: Run, role: Role) -> tuple[list[Slot], dict[str, Worker]]:
    slots, workers = [], {}
    for worker in run.workers.values():
        if worker.role == role and worker.free["slots"] >= 1.0:
            slots.append(Slot(worker.name, worker.free))
            workers[worker.name] = worker
    return slots, workers


def _head(scheduler: Scheduler, queue: dict[int, Waiting], slots: list[Slot]) -> list[Waiting]:
    wanted = WINDOW + sum(int(slot.free["slots"]) for slot in slots)
    if _sees_every_domain(scheduler):
        shown: Counter[str] = Counter()
        waiting = []
        for item in queue.values():
            if shown[item.domain] < wanted:
                shown[item.domain] += 1
                waiting.append(item)
        return waiting
    return list(queue.values()) if len(queue) <= wanted else list(islice(queue.values(), wanted))


def _sees_every_domain(scheduler: Scheduler) -> bool:
    return bool(getattr(scheduler, "should_see_every_domain", False))


def _pick(
    run: Run,
    scheduler: Scheduler,
    name: str,
    queue: Mapping[int, Waiting],
    waiting: list[Waiting],
    slots: list[Slot],
) -> list[Assignment]:
    done = {entry: account.units for entry, account in run.accounts.items()}
    mean, costs = {}, {}
    if _sees_every_domain(scheduler):
        mean = {entry.name: share.group_units(run, entry) / entry.group_size for entry in run.entries.values()}
        costs = {entry.name: entry.rollout_s if name == "rollout" else entry.verify_s for entry in run.entries.values()}
    view = View(name, waiting, run.running[name], run.target or run.share, done, mean, costs)
    owner = run.spec.owner("scheduler", scheduler)
    try:
        picked = scheduler.pick(view, slots, run.now_s)
    except AssayError:
        raise
    except Exception as error:
        raise PluginError("a scheduler must not raise", got=repr(error), at=owner) from error
    rooms = {slot.worker: dict(slot.free) for slot in slots}
    seen: set[int] = set()
    for given in picked:
        room = rooms.get(given.worker, {})
        waits = queue.get(given.item)
        if waits is None or given.item in seen or not _takes(room, {"slots": 1.0, **waits.needs}):
            must = "a scheduler must give waiting items to workers with room for them, once each"
            raise PluginError(must, got=given, at=owner)
        seen.add(given.item)
    return picked


def _takes(room: dict[str, float], needs: Mapping[str, float]) -> bool:
    """Take what an item needs from a worker's room; whether there was enough."""
    if any(room.get(name, 0.0) < amount for name, amount in needs.items()):
        return False
    for name, amount in needs.items():
        room[name] -= amount
    return True
