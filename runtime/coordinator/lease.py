"""Leases and the queues of those that wait for one.

A lease lasts some heartbeats and is renewed by each heartbeat that names it; it is never sized to the work. `latest_s`
ends it even so, for a worker that lives and never answers.
"""

from assay.core.scheduler import Waiting
from assay.runtime.coordinator import patience
from assay.runtime.coordinator.state import Episode, Lease, Run, Worker

# A worker enforces `max_runtime_s` itself and says so; the coordinator gives it this much longer to do that.
GRACE = 2.0


def grant(
    run: Run, worker: Worker, max_s: float, episode: Episode | None = None, needs: dict[str, float] | None = None
) -> Lease:
    """Give work to a worker and take the capacity it needs."""
    lease = Lease(
        run.next_lease,
        worker,
        run.now_s + run.spec.lease_s,
        run.now_s + GRACE * max_s + run.spec.lease_s,
        episode,
        needs or {},
    )
    run.next_lease += 1
    _bind(run, lease)
    return lease


def adopt(run: Run, worker: Worker, number: int, max_s: float, episode: Episode, needs: dict[str, float]) -> Lease:
    """Take over a lease that a former coordinator gave."""
    now = run.now_s
    lease = Lease(number, worker, now + run.spec.lease_s, now + GRACE * max_s + run.spec.lease_s, episode, needs)
    _bind(run, lease)
    return lease


def _bind(run: Run, lease: Lease) -> None:
    run.leases[lease.number] = lease
    lease.worker.leases.add(lease.number)
    free = lease.worker.free
    free["slots"] = free.get("slots", 0.0) - slots(lease)
    for name, amount in lease.needs.items():
        free[name] = free.get(name, 0.0) - amount
    if lease.episode is not None:
        lease.episode.lease = lease
        running, name = run.running[lease.worker.role], lease.episode.group.entry.name
        running[name] = running.get(name, 0) + 1


def slots(lease: Lease) -> float:
    """Return the slots of its worker that a lease takes now; when a judge is back, that may be more than there are."""
    return 0.0 if lease.is_waiting else patience.slots(lease.worker, lease.episode)


def end(run: Run, lease: Lease) -> None:
    """Take a lease back and free what it held."""
    del run.leases[lease.number]
    lease.worker.leases.discard(lease.number)
    free = lease.worker.free
    free["slots"] += slots(lease)
    for name, amount in lease.needs.items():
        free[name] += amount
    if lease.episode is not None:
        lease.episode.lease = None
        run.running[lease.worker.role][lease.episode.group.entry.name] -= 1
    elif lease.indices:
        run.feed(lease.entry, lease.split).asked.difference_update(lease.indices)


def renew(run: Run, worker: Worker, held: tuple[int, ...], waiting: tuple[int, ...] = ()) -> None:
    """Renew the leases a worker still works on.

    One that waits for its judge holds no slot meanwhile, since others must not wait for that judge too, and has its
    whole time before it again.
    """
    deadline_s = run.now_s + run.spec.lease_s
    for number in held:
        lease = run.leases.get(number)
        if lease is not None and lease.worker is worker:
            lease.deadline_s = deadline_s
            if lease.is_waiting != (number in waiting):
                worker.free["slots"] += slots(lease)
                lease.is_waiting = not lease.is_waiting
                worker.free["slots"] -= slots(lease)
            if lease.is_waiting and lease.episode is not None:
                lease.latest_s = deadline_s + GRACE * lease.episode.group.entry.max_verify_s


def shift(run: Run, by_s: float) -> None:
    """Move all deadlines after a stall of the loop: silence of workers it did not listen to proves nothing."""
    for lease in run.leases.values():
        lease.deadline_s += by_s
        lease.latest_s += by_s
    for worker in run.workers.values():
        worker.seen_s += by_s


def queue_rollout(run: Run, episode: Episode, *, is_new: bool = True) -> None:
    """Let an episode wait for a rollout slot; one that had a lease before goes first."""
    entry = episode.group.entry
    waiting = Waiting(episode.number, entry.name, entry.tier, run.now_s, entry.rollout_s)
    if is_new:
        run.rollout_queue[episode.number] = waiting
    else:
        run.rollout_queue = {episode.number: waiting, **run.rollout_queue}


def queue_verify(run: Run, episode: Episode, *, is_new: bool = True) -> None:
    """Let an episode wait for a verify slot; one that had a lease before goes first."""
    entry = episode.group.entry
    waiting = Waiting(episode.number, entry.name, entry.tier, run.now_s, entry.verify_s, entry.needs)
    if is_new:
        run.verify_queue[episode.number] = waiting
    else:
        run.verify_queue = {episode.number: waiting, **run.verify_queue}
