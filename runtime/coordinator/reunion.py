"""Workers that join, and workers that come back to a coordinator that has forgotten them."""

from assay.core.wire import PROTOCOL, Cancel, Hello, Refused, UseWeights, Welcome
from assay.runtime.coordinator import failure, lease, record
from assay.runtime.coordinator.instruction import Instruction, Send
from assay.runtime.coordinator.state import Run, Worker
from assay.runtime.coordinator.transition import step


def join(run: Run, out: list[Instruction], peer: bytes, report: Hello, incarnation: int) -> Worker | None:
    """Take in a worker, in place of a dead one of the same name; None where it is of another run."""
    refusal = _refusal(run, report)
    if refusal is not None:
        run.count("refused_worker")
        out.append(record.log("worker_refused", f"{report.worker}: {refusal}", run.now_s))
        out.append(Send(peer, Refused(refusal)))
        return None
    for other in list(run.workers.values()):
        if other.name == report.worker and other.peer != peer:
            failure.lose(run, out, other, f"replaced by pid {report.pid}")
    worker = run.workers.get(peer)
    if worker is None:
        capacity = {"slots": 1.0, **report.capacity}
        worker = Worker(peer, report.role, report.worker, report.pid, capacity, dict(capacity), run.now_s)
        run.workers[peer] = worker
        out.append(record.log("worker_joined", f"{report.worker} pid {report.pid}", run.now_s))
    worker.seen_s = run.now_s
    at = run.curriculum
    checkpoint = at.checkpoint if report.role == "update" else None
    out.append(Send(peer, Welcome(PROTOCOL, incarnation, run.spec.heartbeat_s, checkpoint)))
    if report.role == "rollout" and at.visible is not None:
        out.append(Send(peer, UseWeights(at.visible)))
    elif report.role == "source":
        run.should_prefetch = True
    return worker


def reunite(run: Run, out: list[Instruction], worker: Worker, report: Hello) -> None:
    """Take over the leases of a former coordinator; cancel what somebody else holds or nobody needs."""
    void = []
    for held in report.held:
        known = run.leases.get(held.lease)
        if known is not None and known.worker is worker:
            known.deadline_s = run.now_s + run.spec.lease_s
            continue
        episode = run.episodes.get(held.episode)
        if episode is not None and episode.state == "planned" and worker.role == "rollout":
            del run.rollout_queue[episode.number]
            entry = episode.group.entry
            lease.adopt(run, worker, held.lease, entry.max_rollout_s, episode, {})
            episode.oldest = held.oldest
            step(run, episode, "rolling", "adopted")
        elif episode is not None and episode.state == "rolled" and worker.role == "verify":
            del run.verify_queue[episode.number]
            entry = episode.group.entry
            lease.adopt(run, worker, held.lease, entry.max_verify_s, episode, entry.needs)
            step(run, episode, "verifying", "adopted")
        elif held.episode >= 0:
            void.append(held.lease)
    if void:
        out.append(Send(worker.peer, Cancel(tuple(void))))


def _refusal(run: Run, report: Hello) -> str | None:
    lowest, highest = report.protocol
    if not lowest <= PROTOCOL <= highest:
        return f"protocol {PROTOCOL} is spoken here, the worker knows {lowest} to {highest}"
    if report.plan_digest != run.spec.plan_digest:
        return f"this run's plan is {run.spec.plan_digest[:16]}, the worker's {report.plan_digest[:16]}"
    return None
