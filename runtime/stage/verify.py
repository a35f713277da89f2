"""Verify workers: finished episodes become verdicts.

The worker runs no plugin code itself; that happens in locked-down processes it can kill. A failure to read what is to
be verified is reported as one, never scored.
"""

import time
from collections.abc import Mapping

import msgspec

from assay.core.episode import Episode
from assay.core.error import JudgeRefused, StoreError, VerifierFault
from assay.core.registry import resolve
from assay.core.store import Store
from assay.core.task import Task
from assay.core.trajectory import Trajectory
from assay.core.verdict import Unscored, Verdict
from assay.core.wire import Cancel, Fault, LeaseVerify, Order, VerdictDone, VerifyFailed
from assay.dsl.expr.function import Entry
from assay.dsl.reduce import functions_of
from assay.runtime.review.question import SIGNAL
from assay.runtime.run.plan import EntryPlan
from assay.runtime.verify.grade import GradeDesk, Rubric
from assay.runtime.wire.client import Client

# How long verdicts are waited for before orders are looked at again.
_WAIT_S = 0.02


class VerifyStage:
    """See `assay.runtime.stage.worker.Stage`.

    Args:
        desk: Where episodes are graded.
        store: To read from.
        client: Connection.
    """

    def __init__(self, desk: GradeDesk, store: Store, client: Client) -> None:
        self._desk = desk
        self._store = store
        self._client = client
        self._open: dict[int, tuple[LeaseVerify, float]] = {}
        self._held_s: dict[int, float] = {}
        self._looked_s = time.monotonic()
        self._is_told = False

    @property
    def is_busy(self) -> bool:
        """Whether an episode is being graded by anything but people, for whom nobody hurries."""
        return self._desk.is_busy

    def take(self, order: Order) -> None:
        """Begin to grade, or give up."""
        if isinstance(order, LeaseVerify):
            self._begin(order)
        elif isinstance(order, Cancel):
            for lease in order.leases:
                if self._open.pop(lease, None) is not None:
                    self._held_s.pop(lease, None)
                    self._desk.cancel(lease)

    def work(self) -> None:
        """Send the verdicts that are there."""
        if not self._open:
            return
        try:
            verdicts = self._desk.poll(_WAIT_S)
        except (VerifierFault, JudgeRefused) as error:
            self._client.send(Fault(str(error), is_fatal=True))
            verdicts = self._desk.poll()
        for key, verdict in verdicts:
            lease, started_s = self._open.pop(key)
            self._held_s.pop(key, None)
            self._client.send(VerdictDone(key, lease.episode, verdict, _worked_s(lease, verdict, started_s)))
        self._wait_for_judges()
        self._tell()
        self._expire()

    def close(self) -> None:
        """End the processes of verifiers."""
        self._desk.close()
        self._store.close()

    def _begin(self, lease: LeaseVerify) -> None:
        try:
            task = msgspec.msgpack.decode(self._store.get(lease.body), type=Task)
            trajectory = msgspec.msgpack.decode(self._store.get(lease.trajectory), type=Trajectory)
        except (StoreError, msgspec.MsgspecError) as error:
            self._client.send(VerifyFailed(lease.lease, lease.episode, "lost_blob", str(error)))
            return
        self._open[lease.lease] = (lease, time.monotonic())
        self._desk.submit(lease.lease, lease.entry, to_episode(lease.episode, task, trajectory))

    def _wait_for_judges(self) -> None:
        """Let the time of episodes that wait for a judge stand still, here and in the coordinator."""
        now, held = time.monotonic(), self._desk.held()
        for key in held & self._open.keys():
            started_s = self._open[key][1]
            self._held_s[key] = self._held_s.get(key, 0.0) + now - max(self._looked_s, started_s)
        self._looked_s = now
        self._client.waiting = tuple(held)

    def _tell(self) -> None:
        """Say once that a judge is away, and once that it is back: lines of the run's log."""
        trouble = self._desk.trouble()
        if bool(trouble) != self._is_told:
            self._is_told = bool(trouble)
            detail = f"{trouble}; episodes that wait: {len(self._held_s)}" if trouble else "the judge is back"
            self._client.send(Fault(detail))

    def _expire(self) -> None:
        now = time.monotonic()
        for key, (lease, started_s) in list(self._open.items()):
            if now - started_s - self._held_s.get(key, 0.0) > lease.max_runtime_s:
                del self._open[key]
                self._held_s.pop(key, None)
                self._desk.cancel(key)
                late: Verdict = Unscored("verifier_timeout", f"no verdict after {lease.max_runtime_s:g} s")
                self._client.send(VerdictDone(key, lease.episode, late, _worked_s(lease, late, started_s)))


def _worked_s(lease: LeaseVerify, verdict: Verdict, started_s: float) -> float:
    """Return the seconds a verdict took, without waiting for judges to be free.

    Where people were waited for, those that verifiers measured themselves.
    """
    if lease.tier != "human":
        queue_s = sum(one.queue_s for one in verdict.measurements.values())
        queue_s += verdict.queue_s if isinstance(verdict, Unscored) else 0.0
        return max(0.0, time.monotonic() - started_s - queue_s)
    return sum(one.wall_s for one in verdict.measurements.values() if SIGNAL not in one.signals)


def to_episode(number: int, task: Task, trajectory: Trajectory) -> Episode:
    """Return an episode as verifiers see it."""
    messages = [message for turn in trajectory.turns for message in (*turn.prompt, turn.completion)]
    return Episode(
        id=number,
        domain=task.domain,
        task=task.fields,
        messages=tuple(messages),
        final_text=trajectory.final_text,
        answer=trajectory.answer,
        trace=trajectory.trace,
    )


def rubrics(entries: tuple[EntryPlan, ...]) -> Mapping[str, Rubric]:
    """Return what grades each entry."""
    return {entry.name: Rubric(entry.program, entry.leaves, entry.modes, _functions(entry)) for entry in entries}


def _functions(entry: EntryPlan) -> Mapping[str, Entry]:
    return functions_of([resolve(ref) for ref in entry.functions.values()])
