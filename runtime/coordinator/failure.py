"""What becomes of the work of a lease or a worker that is gone.

One retry budget per episode, whatever failed. Blame is exact or there is none: a task is charged with the death of a
process only where that process was working on nothing else.
"""

from assay.core.wire import Cancel
from assay.runtime.coordinator import grouping, level, record
from assay.runtime.coordinator.instruction import Instruction, Send
from assay.runtime.coordinator.lease import end, queue_rollout, queue_verify
from assay.runtime.coordinator.state import Episode, Lease, Run, Worker
from assay.runtime.coordinator.transition import step


def expire(run: Run, out: list[Instruction]) -> None:
    """End leases that were not renewed and forget workers that fell silent."""
    now_s = run.now_s
    for worker in [worker for worker in run.workers.values() if now_s - worker.seen_s > run.spec.lease_s]:
        lose(run, out, worker, "no heartbeat")
    for lease in [item for item in run.leases.values() if now_s > item.deadline_s or now_s > item.latest_s]:
        run.count("lease_expired")
        out.append(Send(lease.worker.peer, Cancel((lease.number,))))
        give_back(run, out, lease, "lease expired")


def lose(run: Run, out: list[Instruction], worker: Worker, why: str, *, is_death: bool = True) -> None:
    """Forget a worker and hand its work on."""
    run.workers.pop(worker.peer, None)
    out.append(
        record.log("worker_lost" if is_death else "worker_left", f"{worker.name} pid {worker.pid}: {why}", run.now_s)
    )
    leases = [run.leases[number] for number in worker.leases]
    if is_death:
        run.count("worker_lost")
        if len(leases) == 1 and leases[0].episode is not None and worker.capacity.get("slots", 1.0) <= 1.0:
            blame(run, out, leases[0].episode, f"{worker.name} pid {worker.pid} died: {why}")
    for lease in leases:
        if lease.number in run.leases:
            give_back(run, out, lease, f"{worker.name}: {why}", is_charged=is_death)


def give_back(run: Run, out: list[Instruction], lease: Lease, why: str, *, is_charged: bool = True) -> None:
    """End a lease without a result; its episode waits again, or ends when its retry budget is spent."""
    end(run, lease)
    if lease.episode is not None:
        retry(run, out, lease.episode, why, is_charged=is_charged)


def retry(run: Run, out: list[Instruction], episode: Episode, why: str, *, is_charged: bool = True) -> None:
    """Put an episode that lost its lease back where it waited."""
    is_verify = episode.state == "verifying"
    step(run, episode, "rolled" if is_verify else "planned", why)
    episode.retries += is_charged
    if episode.retries <= run.spec.max_retries:
        (queue_verify if is_verify else queue_rollout)(run, episode, is_new=False)
    elif is_verify:
        grouping.unscore(run, out, episode, "infra", f"retries spent: {why}")
    else:
        grouping.drop(run, out, episode, "retries_spent")


def replay(run: Run, out: list[Instruction], episode: Episode, why: str) -> None:
    """Play an episode again whose trajectory the store has lost."""
    step(run, episode, "rolled", why)
    episode.retries += 1
    if episode.retries > run.spec.max_retries:
        grouping.drop(run, out, episode, "lost_blob")
        return
    step(run, episode, "planned", why)
    out.append(record.lost(episode.number))
    queue_rollout(run, episode, is_new=False)


def blame(run: Run, out: list[Instruction], episode: Episode, story: str) -> None:
    """Charge a task with the death of the process that worked on it alone; some deaths put it into quarantine."""
    group = episode.group
    feed = run.feed(group.entry.name, group.split)
    feed.deaths[group.index] = feed.deaths.get(group.index, 0) + 1
    is_out = feed.deaths[group.index] >= run.spec.max_deaths
    if is_out:
        feed.quarantined.add(group.index)
    out.append(record.quarantine(feed, group.index, story))
    if is_out:
        for other in list(run.groups.values()):
            if other.entry is group.entry and other.split == group.split and other.index == group.index:
                grouping.cancel(run, out, other, "quarantined")
        level.leave(run, out, feed)
