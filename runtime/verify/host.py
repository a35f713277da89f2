"""The host of verifier processes: jobs in, outcomes out, polled by the one loop that owns it.

One job is in flight per process, so blame is exact; asynchronous leaves share a process, several at a time, and after a
crash each is tried alone. A process that hangs, crashes, grows or has done its share is killed with all its descendants
and replaced.

Invariants: every submitted job has exactly one outcome; what came in before a deadline was looked at counts; nothing a
job started is alive when its outcome is returned, but for what shares an asynchronous process.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from assay.core.error import PluginError, WireError
from assay.core.verdict import Cause
from assay.runtime.judge.host import JudgeHost
from assay.runtime.sandbox.host import BoxHost
from assay.runtime.verify.flight import Flight, Key, Outcome, Slot, VerifierRef
from assay.runtime.verify.lender import Lender
from assay.runtime.verify.message import BoxCall, Declared, FromWorker, Hello, Job, JudgeCall, Limits, Reply
from assay.runtime.verify.outcome import failed, measured, timed_out
from assay.runtime.verify.pool import ProcessPool
from assay.runtime.verify.queue import JobQueue

__all__ = ["Outcome", "VerifierHost", "VerifierRef"]

# Times a job is run again, unblamed, after something outside killed its process.
_MAX_LOST = 3
# A forking or asynchronous worker keeps deadlines itself; the host steps in where it does not.
_GRACE_S = {"worker": 0.0, "fork": 2.0, "async": 2.0}


class VerifierHost:
    """Runs verifiers and parsers in processes that can be killed.

    Args:
        num_processes: Most processes per distribution and mode.
        num_concurrent: Most calls at a time in an asynchronous process.
        limits: What each process may use.
        boxes: Where verifiers that ask for a box get it; None: such a verifier does not start. Closed with this host.
        judges: Whom verifiers ask that ask for a judge; None: such a verifier does not start. Closed with this host.
        paths: Further folders that workers import from.
        namespaces: Enter namespaces where the system lets; False for what they break.
        folder: Where scratch folders are made; None for the system's.
        clock: Seconds, never going back.
    """

    def __init__(
        self,
        *,
        num_processes: int = 1,
        num_concurrent: int = 16,
        limits: Limits | None = None,
        boxes: BoxHost | None = None,
        judges: JudgeHost | None = None,
        paths: Sequence[str] = (),
        namespaces: bool = True,
        folder: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # More than can be out, so that a question is ready when a place is.
        num_concurrent = num_concurrent if judges is None else max(num_concurrent, 2 * judges.patience.concurrency)
        self.limits = limits or Limits()
        self.boxes = boxes
        self.judges = judges
        self.declared: dict[str, Declared] = {}
        self._clock = clock
        self._pool = ProcessPool(num_processes, self.limits, paths, namespaces, folder, clock)
        self._lender = Lender(self._pool, self.declared, boxes, judges, clock)
        self._queue = JobQueue(self._lender, num_concurrent)
        self._outcomes: list[Outcome] = []
        self._num_sent = 0

    def start(self, refs: Sequence[VerifierRef]) -> None:
        """Start one process per distribution and mode; more come with the load. Does not wait for them."""
        self._queue.know(refs)
        self._pool.start(refs)

    def wait_started(self) -> dict[str, Declared]:
        """Wait until every process of `start` is ready; returns what all leaves declare, by reference.

        Raises:
            PluginError: a plugin does not load in its worker.
        """
        while any(slot.process.hello is None for slot in self._pool):
            self._pass(0.1)
        return self.declared

    @property
    def num_waiting(self) -> int:
        """Jobs submitted that no process has yet."""
        return len(self._queue)

    @property
    def num_running(self) -> int:
        """Jobs in a process."""
        return sum(len(slot.flights) for slot in self._pool)

    def held(self) -> set[int]:
        """Return the jobs that stand still because of a judge or a box: it is asked, or others are in front of them."""
        asking = {key for key, refs in self._pool.refs.items() if any(map(self._lender.is_asked, refs))}
        held = {flight.job.job_id for key in asking for flight in self._queue.of(key)}
        held |= {n for slot in self._pool for n, flight in slot.flights.items() if flight.num_asked}
        return held

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the guards."""
        return tuple(slot.process.pid for slot in self._pool)

    @property
    def locked(self) -> dict[str, tuple[str, ...]]:
        """Protections in force, by distribution and mode."""
        return {
            f"{slot.key.dist} {slot.key.mode}": slot.process.hello.locked for slot in self._pool if slot.process.hello
        }

    def fileno(self) -> int:
        """A descriptor that is readable when `poll` has something to read; deadlines need `poll` all the same."""
        return self._pool.fileno()

    def submit(self, job: Job) -> None:
        """Queue a job; `poll` sends it when a process is free.

        Raises:
            PluginError: its leaf was not started.
        """
        self._dispatch(self._queue.put(Flight(job)))

    def cancel(self, job_id: int) -> None:
        """Take back a job that no process has yet; one that runs is left to end."""
        flight = self._queue.take(job_id)
        if flight is not None:
            self._lender.release(flight)

    def poll(self, timeout_s: float = 0.0) -> list[Outcome]:
        """Return outcomes, waiting up to `timeout_s` for the first.

        Raises:
            PluginError: a plugin does not load in its worker.
        """
        until = self._clock() + timeout_s
        self._pass(0.0)
        while not self._outcomes and (left := until - self._clock()) > 0:
            self._pass(min(left, self.next_deadline_s()))
        outcomes, self._outcomes = self._outcomes, []
        return outcomes

    def next_deadline_s(self) -> float:
        """Seconds until `poll` must be called even if nothing becomes readable; at most 1."""
        deadlines = [flight.deadline for slot in self._pool for flight in slot.flights.values()]
        return max(0.0, min([1.0, *(deadline - self._clock() for deadline in deadlines)]))

    def close(self) -> None:
        """End all processes; jobs in flight have no outcome."""
        for slot in self._pool:
            self._pool.remove(slot)
        self._lender.close()
        self._pool.close()

    def __enter__(self) -> "VerifierHost":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _pass(self, timeout_s: float) -> None:
        for slot in self._pool.wait(timeout_s):
            if slot is None:
                self._on_answers()
                continue
            slot.process.flush()
            for message in slot.process.receive():
                self._on_message(slot, message)
            self._pool.watch(slot)
        for slot in self._pool:
            if slot.process.is_ended:
                self._on_end(slot)
            else:
                self._check_deadlines(slot)
        for key in self._queue:
            self._dispatch(key)

    def _on_message(self, slot: Slot, message: FromWorker) -> None:
        if isinstance(message, Hello):
            if message.error:
                self._pool.remove(slot)
                raise PluginError("a plugin must load in its worker", got=message.error, at=slot.key.dist)
            self._lender.check(message.declared.values())
            slot.process.hello = message
            self._pool.has_started(slot.key)
            self.declared.update(message.declared)
            return
        if isinstance(message, (BoxCall, JudgeCall)):
            self._lender.call(slot, message)
            return
        flight = slot.flights.pop(message.job_id, None)
        if flight is None:
            slot.process.is_ended = True
            return
        self._lender.release(flight, is_ok=message.status == "ok")
        slot.process.num_jobs += 1
        self._on_reply(flight, message)
        self._pool.leave_worn(slot, rss_bytes=message.rss_bytes, is_dirty=message.is_dirty)

    def _on_answers(self) -> None:
        for flight, reason in self._lender.answer():
            self._queue.take(flight.job.job_id)
            self._lender.release(flight)
            self._fail(flight, "infra", reason)

    def _on_reply(self, flight: Flight, reply: Reply) -> None:
        if flight.box_failure:
            # Whatever was measured in a box that failed says nothing about the answer.
            self._lose(flight, flight.box_failure)
            return
        match reply.status:
            case "ok":
                self._outcomes.append(measured(flight, self.declared[flight.job.ref], reply))
            case "timeout":
                self._time_out(flight, reply.wall_s)
            case "fault":
                self._fail(flight, "verifier_fault", reply.detail)
            case _:
                self._retry(flight, reply.detail)

    def _on_end(self, slot: Slot) -> None:
        """A process ended by itself, or sent what it must not."""
        reason = self._pool.remove(slot)
        if slot.process.hello is None:
            self._pool.has_failed(slot.key, reason)
        flights = list(slot.flights.values())
        for flight in flights:
            self._lender.release(flight)
            if slot.process.is_lost:
                self._lose(flight, reason)
            elif len(flights) == 1:
                self._retry(flight, reason)
            else:
                # Nobody knows whose doing it was: each is tried again by itself.
                flight.is_alone = True
                self._queue.put_back(flight)
        self._pool.spawn(slot.key)

    def _check_deadlines(self, slot: Slot) -> None:
        now = self._clock()
        if slot.process.hello is None and now > slot.started_at + self.limits.start_s:
            slot.process.is_ended = True
            self._on_end(slot)
            return
        late = [flight for flight in slot.flights.values() if now >= flight.deadline]
        if not late:
            return
        self._pool.remove(slot)
        for flight in slot.flights.values():
            self._lender.release(flight)
            if flight in late:
                self._time_out(flight, now - flight.sent_at)
            else:
                self._queue.put_back(flight)
        self._pool.spawn(slot.key)

    def _time_out(self, flight: Flight, wall_s: float) -> None:
        self._outcomes.append(timed_out(flight, self.declared[flight.job.ref], wall_s))

    def _retry(self, flight: Flight, detail: str) -> None:
        """An exception or a crash: again as often as declared, then by the declared end."""
        declared = self.declared[flight.job.ref]
        if flight.num_tries <= declared.retries:
            self._queue.put_back(flight)
            return
        self._fail(flight, "judge_error" if declared.tier == "judge" else "verifier_fault", detail, declared.is_fatal)

    def _lose(self, flight: Flight, detail: str) -> None:
        """Infrastructure failed under a job: again, unblamed, a few times."""
        flight.box_failure = ""
        flight.num_lost += 1
        if flight.num_lost > _MAX_LOST:
            self._fail(flight, "infra", detail)
            return
        flight.num_tries -= 1
        self._queue.put_back(flight)

    def _fail(self, flight: Flight, cause: Cause, detail: str, is_fatal: bool = False) -> None:
        self._outcomes.append(failed(flight, self.declared[flight.job.ref], cause, detail, is_fatal))

    def _dispatch(self, key: Key) -> None:
        waiting = self._queue.of(key)
        self._lender.open_boxes(waiting)
        for slot in self._pool.of(key):
            while (flight := self._queue.take_for(slot)) is not None:
                self._send(slot, flight)
        self._pool.grow(key, len(waiting))

    def _send(self, slot: Slot, flight: Flight) -> None:
        declared = self.declared[flight.job.ref]
        self._num_sent += 1
        timeout_s = (flight.job.timeout_s or declared.timeout_s) + _GRACE_S[slot.key.mode]
        flight.depart(self._num_sent, self._clock(), timeout_s)
        slot.flights[flight.job.job_id] = flight
        try:
            slot.process.send(flight.job)
        except WireError as error:
            del slot.flights[flight.job.job_id]
            self._fail(flight, "infra", str(error))
        self._pool.watch(slot)
