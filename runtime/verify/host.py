"""The host of verifier processes: jobs in, outcomes out, polled by the one loop that owns it.

Leaves of one distribution that run the same way share processes. One job is in flight per process, so blame is exact;
asynchronous leaves share a process, several at a time, and after a crash each is tried alone. A process that hangs,
crashes, grows or has done its share is killed with all its descendants and replaced.

Invariants: every submitted job has exactly one outcome; what came in before a deadline was looked at counts; nothing a
job started is alive when its outcome is returned, but for what shares an asynchronous process.
"""

import select
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from assay.core.error import PluginError, WireError
from assay.core.kind import misfit
from assay.core.verdict import Cause, Measurement
from assay.runtime.judge.host import JudgeHost
from assay.runtime.sandbox.host import BoxAnswer, BoxHost
from assay.runtime.verify.flight import Flight, Key, Outcome, Slot, VerifierRef
from assay.runtime.verify.message import (
    BoxCall,
    BoxReply,
    Declared,
    FromWorker,
    Hello,
    Job,
    JudgeAnswer,
    JudgeCall,
    Limits,
    Reply,
    Setup,
)
from assay.runtime.verify.path import plugin_paths
from assay.runtime.verify.process import WorkerProcess
from assay.runtime.verify.refusal import no_box, no_judge

__all__ = ["Outcome", "VerifierHost", "VerifierRef"]

_MAX_FAILED_STARTS = 3
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
        self.num_processes = num_processes
        # More than can be out, so that a question is ready when a place is.
        self.num_concurrent = num_concurrent if judges is None else max(num_concurrent, 2 * judges.patience.concurrency)
        self.limits = limits or Limits()
        self.boxes = boxes
        self.judges = judges
        self.declared: dict[str, Declared] = {}
        self._paths = tuple(paths)
        self._namespaces = namespaces
        self._folder = folder
        self._clock = clock
        self._refs: dict[Key, list[str]] = {}
        self._key_of: dict[str, Key] = {}
        self._queues: dict[Key, deque[Flight]] = {}
        self._failed_starts: dict[Key, int] = {}
        self._slots: dict[int, Slot] = {}
        self._outcomes: list[Outcome] = []
        self._num_sent = 0
        self._num_opened = 0
        self._opening: dict[int, Flight] = {}
        self._epoll = select.epoll()
        for others in (boxes, judges):
            if others is not None:
                self._epoll.register(others.fileno(), select.EPOLLIN)

    def start(self, refs: Sequence[VerifierRef]) -> None:
        """Start one process per distribution and mode; more come with the load. Does not wait for them."""
        for leaf in refs:
            key = Key(":".join(leaf.ref.split(":")[:2]), leaf.mode, leaf.net)
            self._key_of[leaf.ref] = key
            known = self._refs.setdefault(key, [])
            if leaf.ref not in known:
                known.append(leaf.ref)
            self._queues.setdefault(key, deque())
            self._failed_starts.setdefault(key, 0)
        for slot in list(self._slots.values()):
            if slot.num_refs < len(self._refs[slot.key]):
                self._leave(slot)
        for key in self._refs:
            if not self._slots_of(key):
                self._spawn(key)

    def wait_started(self) -> dict[str, Declared]:
        """Wait until every process of `start` is ready; returns what all leaves declare, by reference.

        Raises:
            PluginError: a plugin does not load in its worker.
        """
        while any(slot.process.hello is None for slot in self._slots.values()):
            self._pass(0.1)
        return self.declared

    @property
    def num_waiting(self) -> int:
        """Jobs submitted that no process has yet."""
        return sum(map(len, self._queues.values()))

    @property
    def num_running(self) -> int:
        """Jobs in a process."""
        return sum(len(slot.flights) for slot in self._slots.values())

    def held(self) -> set[int]:
        """Return the jobs that stand still because of a judge or a box: it is asked, or others are in front of them."""
        asking = {key for key, refs in self._refs.items() if any(map(self._asks_others, refs))}
        held = {flight.job.job_id for key in asking for flight in self._queues[key]}
        held |= {n for slot in self._slots.values() for n, flight in slot.flights.items() if flight.num_asked}
        return held

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the guards."""
        return tuple(slot.process.pid for slot in self._slots.values())

    @property
    def locked(self) -> dict[str, tuple[str, ...]]:
        """Protections in force, by distribution and mode."""
        return {
            f"{slot.key.dist} {slot.key.mode}": slot.process.hello.locked
            for slot in self._slots.values()
            if slot.process.hello
        }

    def fileno(self) -> int:
        """A descriptor that is readable when `poll` has something to read; deadlines need `poll` all the same."""
        return self._epoll.fileno()

    def submit(self, job: Job) -> None:
        """Queue a job; `poll` sends it when a process is free.

        Raises:
            PluginError: its leaf was not started.
        """
        key = self._key_of.get(job.ref)
        if key is None:
            raise PluginError("a job must name a leaf that was started", got=job.ref)
        self._queues[key].append(Flight(job))
        self._dispatch(key)

    def cancel(self, job_id: int) -> None:
        """Take back a job that no process has yet; one that runs is left to end."""
        for queue in self._queues.values():
            for flight in queue:
                if flight.job.job_id == job_id:
                    queue.remove(flight)
                    self._release(flight)
                    return

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
        deadlines = [flight.deadline for slot in self._slots.values() for flight in slot.flights.values()]
        return max(0.0, min([1.0, *(deadline - self._clock() for deadline in deadlines)]))

    def close(self) -> None:
        """End all processes; jobs in flight have no outcome."""
        for slot in list(self._slots.values()):
            self._remove(slot)
        for others in (self.boxes, self.judges):
            if others is not None:
                others.close()
        self._epoll.close()

    def __enter__(self) -> "VerifierHost":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _pass(self, timeout_s: float) -> None:
        for number, _ in self._epoll.poll(timeout_s):
            slot = self._slots.get(number)
            if slot is None:
                self._on_boxes()
                self._on_judges()
                continue
            slot.process.flush()
            for message in slot.process.receive():
                self._on_message(slot, message)
            self._watch(slot)
        for slot in list(self._slots.values()):
            if slot.process.is_ended:
                self._on_end(slot)
            else:
                self._check_deadlines(slot)
        for key in self._queues:
            self._dispatch(key)

    def _on_message(self, slot: Slot, message: FromWorker) -> None:
        if isinstance(message, Hello):
            if message.error:
                self._remove(slot)
                raise PluginError("a plugin must load in its worker", got=message.error, at=slot.key.dist)
            for declared in message.declared.values():
                if "box" in declared.supplied and self.boxes is None:
                    raise no_box(declared.name)
                if "judge" in declared.supplied and self.judges is None:
                    raise no_judge(declared.name)
            slot.process.hello = message
            self._failed_starts[slot.key] = 0
            self.declared.update(message.declared)
            return
        if isinstance(message, BoxCall):
            self._on_box_call(slot, message)
            return
        if isinstance(message, JudgeCall):
            self._on_judge_call(slot, message)
            return
        flight = slot.flights.pop(message.job_id, None)
        if flight is None:
            slot.process.is_ended = True
            return
        self._release(flight, is_ok=message.status == "ok")
        slot.process.num_jobs += 1
        self._on_reply(flight, message)
        hello, limits = slot.process.hello, self.limits
        has_grown = hello is not None and message.rss_bytes > hello.rss_bytes + limits.max_growth_bytes
        if slot.is_leaving or message.is_dirty or has_grown or slot.process.num_jobs >= limits.max_jobs:
            self._leave(slot)

    def _on_box_call(self, slot: Slot, asked: BoxCall) -> None:
        flight = slot.flights.get(asked.job_id)
        if flight is None or flight.job.sandbox is None or self.boxes is None:
            slot.process.send(BoxReply(asked.call_id, None, "this call has no box"))
            return
        self.boxes.ask(asked.job_id, flight.job.sandbox, asked.call_id, asked.box, asked.method, asked.given)

    def _on_boxes(self) -> None:
        for answer in self.boxes.answers() if self.boxes is not None else ():
            if answer.call_id < 0:
                self._on_opened(answer)
                continue
            for slot in self._slots.values():
                flight = slot.flights.get(answer.key)
                if flight is not None:
                    if answer.is_infra:
                        flight.box_failure = answer.error or "the backend lost a command"
                    slot.process.send(BoxReply(answer.call_id, answer.value, answer.error))
                    self._watch(slot)

    def _on_opened(self, answer: BoxAnswer) -> None:
        flight = self._opening.pop(answer.call_id, None)
        if flight is None:
            return  # its job was taken back
        flight.has_box = True
        flight.spent.queue_s += self._clock() - flight.asked_at
        if answer.error:
            self._queues[self._key_of[flight.job.ref]].remove(flight)
            self._release(flight)
            self._fail(flight, "infra", answer.error)

    def _asks_others(self, ref: str) -> bool:
        return self._asks_judge(ref) or self._asks_box(ref)

    def _asks_box(self, ref: str) -> bool:
        declared = self.declared.get(ref)
        return self.boxes is not None and declared is not None and "box" in declared.supplied

    def _asks_judge(self, ref: str) -> bool:
        declared = self.declared.get(ref)
        return declared is not None and "judge" in declared.supplied

    def _on_judge_call(self, slot: Slot, asked: JudgeCall) -> None:
        flight = slot.flights.get(asked.job_id)
        if flight is None or self.judges is None or not self._asks_judge(flight.job.ref):
            slot.process.send(JudgeAnswer(asked.call_id, None, "this call has no judge", "refused"))
            return
        flight.stop_clock(self._clock())
        ref = flight.job.ref
        self.judges.ask(flight.ask_id, asked.call_id, asked.request, ref, self.declared[ref].version)

    def _on_judges(self) -> None:
        for ask_id, answer in self.judges.answers() if self.judges is not None else ():
            for slot in self._slots.values():
                for flight in slot.flights.values():
                    if flight.ask_id == ask_id:
                        flight.start_clock(self._clock())
                        flight.judge_failure = answer.failure or flight.judge_failure
                        slot.process.send(answer)
                        self._watch(slot)

    def _release(self, flight: Flight, *, is_ok: bool = False) -> None:
        """Take back what one try was lent."""
        if self.boxes is not None and flight.job.sandbox is not None:
            self.boxes.release(flight.job.job_id)
            self._opening.pop(flight.box, None)
            flight.box, flight.has_box = 0, False
        if self.judges is not None and flight.has_asked:
            # What a judge said before it went away is as good as ever; what nobody could read is not.
            is_kept = is_ok or flight.judge_failure == "outage"
            flight.spent.add(self.judges.end(flight.ask_id, should_keep=is_kept))

    def _on_reply(self, flight: Flight, reply: Reply) -> None:
        if flight.box_failure:
            # Whatever was measured in a box that failed says nothing about the answer.
            self._lose(flight, flight.box_failure)
            return
        match reply.status:
            case "ok":
                fault = self._misfit(flight, reply)
                if fault:
                    self._fail(flight, "verifier_fault", fault)
                    return
                measurement = self._measurement(flight, reply.signals, reply.wall_s)
                self._outcomes.append(Outcome(flight.job.job_id, measurement, num_tries=flight.num_tries))
            case "timeout":
                self._time_out(flight, reply.wall_s)
            case "fault":
                self._fail(flight, "verifier_fault", reply.detail)
            case _:
                self._retry(flight, reply.detail)

    def _on_end(self, slot: Slot) -> None:
        """A process ended by itself, or sent what it must not."""
        reason = self._remove(slot)
        if slot.process.hello is None:
            self._failed_starts[slot.key] += 1
            if self._failed_starts[slot.key] >= _MAX_FAILED_STARTS:
                raise PluginError("a plugin must load in its worker", got=reason, at=slot.key.dist)
        flights = list(slot.flights.values())
        for flight in flights:
            self._release(flight)
            if slot.process.is_lost:
                self._lose(flight, reason)
            elif len(flights) == 1:
                self._retry(flight, reason)
            else:
                # Nobody knows whose doing it was: each is tried again by itself.
                flight.is_alone = True
                self._queues[slot.key].appendleft(flight)
        self._spawn(slot.key)

    def _check_deadlines(self, slot: Slot) -> None:
        now = self._clock()
        if slot.process.hello is None and now > slot.started_at + self.limits.start_s:
            slot.process.is_ended = True
            self._on_end(slot)
            return
        late = [flight for flight in slot.flights.values() if now >= flight.deadline]
        if not late:
            return
        self._remove(slot)
        for flight in slot.flights.values():
            self._release(flight)
            if flight in late:
                self._time_out(flight, now - flight.sent_at)
            else:
                self._queues[slot.key].appendleft(flight)
        self._spawn(slot.key)

    def _time_out(self, flight: Flight, wall_s: float) -> None:
        declared = self.declared[flight.job.ref]
        detail = self._named(flight, f"no result after {flight.job.timeout_s or declared.timeout_s:g} s")
        earned = declared.on_timeout
        self._outcomes.append(
            Outcome(
                flight.job.job_id,
                None if earned is None else self._measurement(flight, earned, wall_s),
                "verifier_timeout" if earned is None else None,
                detail,
                is_timeout=True,
                num_tries=flight.num_tries,
                cost_usd=flight.spent.cost_usd,
                queue_s=flight.spent.queue_s,
            )
        )

    def _retry(self, flight: Flight, detail: str) -> None:
        """An exception or a crash: again as often as declared, then by the declared end."""
        declared = self.declared[flight.job.ref]
        if flight.num_tries <= declared.retries:
            self._queues[self._key_of[flight.job.ref]].appendleft(flight)
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
        self._queues[self._key_of[flight.job.ref]].appendleft(flight)

    def _fail(self, flight: Flight, cause: Cause, detail: str, is_fatal: bool = False) -> None:
        detail, spent = self._named(flight, detail), flight.spent
        outcome = Outcome(flight.job.job_id, None, cause, detail, is_fatal, False, flight.num_tries)
        self._outcomes.append(msgspec.structs.replace(outcome, cost_usd=spent.cost_usd, queue_s=spent.queue_s))

    def _misfit(self, flight: Flight, reply: Reply) -> str | None:
        """Say why signals break the declaration. The worker checked; but an answer that ran in it may have forged."""
        specs = self.declared[flight.job.ref].specs
        if not specs:
            text = reply.signals.get("answer", 0)
            return None if text is None or isinstance(text, str) else "a parser must return a text or None"
        if specs.keys() != reply.signals.keys():
            return f"signals must be {', '.join(specs)}, got {', '.join(reply.signals)}"
        for name, spec in specs.items():
            reason = misfit(spec.kind, reply.signals[name])
            if reason is not None:
                return f"signal `{name}` {reason}"
        return None

    def _measurement(self, flight: Flight, signals: dict, wall_s: float) -> Measurement:
        spent = flight.spent
        judged = spent.cost_usd, spent.num_calls, spent.num_cached, spent.queue_s
        return Measurement(flight.job.ref, self.declared[flight.job.ref].version, signals, wall_s, *judged)

    def _named(self, flight: Flight, detail: str) -> str:
        declared = self.declared[flight.job.ref]
        dist, _, version = self._key_of[flight.job.ref].dist.partition(":")
        return f"{declared.name} v{declared.version} of {dist} {version}: {detail}"

    def _dispatch(self, key: Key) -> None:
        queue, slots = self._queues[key], self._slots_of(key)
        self._open_boxes(queue)
        for slot in slots:
            while (flight := next(filter(self._is_ready, queue), None)) is not None and self._has_room(slot, flight):
                queue.remove(flight)
                self._send(slot, flight)
        num_starting = sum(slot.process.hello is None for slot in slots)
        if len(queue) > num_starting and len(slots) < self.num_processes:
            self._spawn(key)

    def _open_boxes(self, queue: deque[Flight]) -> None:
        """Ask for the boxes of jobs that wait, while there is room: a box is there before a job's time begins."""
        if self.boxes is None:
            return
        for flight in queue:
            if flight.box or flight.job.sandbox is None or not self._asks_box(flight.job.ref):
                continue
            if not self.boxes.has_room:
                return
            self._num_opened += 1
            flight.box = -self._num_opened
            self._opening[flight.box] = flight
            flight.asked_at = self._clock()
            self.boxes.open(flight.job.job_id, flight.job.sandbox, flight.box)

    def _is_ready(self, flight: Flight) -> bool:
        return flight.has_box or flight.job.sandbox is None or not self._asks_box(flight.job.ref)

    def _has_room(self, slot: Slot, flight: Flight) -> bool:
        if slot.process.hello is None or slot.process.is_ended or slot.is_leaving:
            return False
        is_shared = slot.key.mode == "async" and not flight.is_alone
        if any(other.is_alone for other in slot.flights.values()):
            return False
        return len(slot.flights) < (self.num_concurrent if is_shared else 1)

    def _send(self, slot: Slot, flight: Flight) -> None:
        declared = self.declared[flight.job.ref]
        flight.num_tries += 1
        self._num_sent += 1
        flight.ask_id = self._num_sent
        flight.num_asked, flight.has_asked, flight.judge_failure = 0, False, ""
        flight.sent_at = self._clock()
        flight.deadline = flight.sent_at + (flight.job.timeout_s or declared.timeout_s) + _GRACE_S[slot.key.mode]
        slot.flights[flight.job.job_id] = flight
        try:
            slot.process.send(flight.job)
        except WireError as error:
            del slot.flights[flight.job.job_id]
            self._fail(flight, "infra", str(error))
        self._watch(slot)

    def _slots_of(self, key: Key) -> list[Slot]:
        return [slot for slot in self._slots.values() if slot.key == key]

    def _spawn(self, key: Key) -> None:
        refs = tuple(self._refs[key])
        setup = Setup(refs, key.mode, key.net, (*self._paths, *plugin_paths(refs)), self.limits, self._namespaces)
        process = WorkerProcess(setup, self._folder)
        slot = Slot(process, key, self._clock(), len(self._refs[key]))
        self._slots[process.channel.fileno()] = slot
        self._epoll.register(process.channel.fileno(), select.EPOLLIN)
        self._watch(slot)

    def _watch(self, slot: Slot) -> None:
        number = slot.process.channel.fileno()
        if number in self._slots:
            self._epoll.modify(number, select.EPOLLIN | (select.EPOLLOUT if slot.process.has_output else 0))

    def _remove(self, slot: Slot) -> str:
        number = slot.process.channel.fileno()
        del self._slots[number]
        self._epoll.unregister(number)
        return slot.process.end()

    def _leave(self, slot: Slot) -> None:
        """Replace a process, once nothing is in flight in it."""
        slot.is_leaving = True
        if not slot.flights:
            self._remove(slot)
            self._spawn(slot.key)
