"""A worker's end: reports that surely arrive, orders in order, heartbeats whatever the worker is doing.

One thread owns the socket, so that a worker deep in a computation still lives in the eyes of the coordinator; a
computation that never ends is the business of `max_runtime_s`. Invariants: a reliable report is sent again until it is
acknowledged; reports that wait together travel in one frame and none waits for another; a lease is held, and renewed by
every heartbeat, from its order until its answer is acknowledged.
"""

import os
import queue
import secrets
import threading
import time
from collections import deque
from types import TracebackType
from typing import Self

import msgspec
import zmq

from assay.core.error import WireError
from assay.core.trajectory import WeightVersion
from assay.core.wire import (
    MAX_FRAME_BYTES,
    PROTOCOL,
    Ack,
    BatchReady,
    Cancel,
    EpisodeDone,
    EpisodeFailed,
    Goodbye,
    Heartbeat,
    Held,
    Hello,
    LeaseEpisode,
    LeaseTasks,
    LeaseVerify,
    Order,
    Refused,
    Report,
    Role,
    Stop,
    Take,
    TasksReady,
    VerdictDone,
    VerifyFailed,
    Welcome,
    WhoAreYou,
    decode_orders,
    encode_reports,
)

# More than this in one frame would hold up acknowledgements without saving anything.
MAX_REPORTS = 256
_ANSWERS = (TasksReady, EpisodeDone, EpisodeFailed, VerdictDone, VerifyFailed)


class Client:
    """One worker's connection.

    Args:
        address: Where the coordinator is bound.
        role: What this worker does.
        worker: Name that survives restarts of the process.
        plan_digest: Of the plan it was started with.
        capacity: Items at once, under `slots`, and any further resources.
        context: Shared one for `inproc://`; None makes its own.

    Attributes:
        role: What this worker does.
        is_stopped: The coordinator said that the run is over, or refused this worker.
        num_malformed: Frames dropped so far.
        waiting: Held leases that wait for a judge; each heartbeat says so.

    Example:
        >>> def work(client: Client) -> None:
        ...     while not client.is_stopped:
        ...         for order in client.poll(1.0):
        ...             client.send(answer(order))
    """

    def __init__(
        self,
        address: str,
        *,
        role: Role,
        worker: str,
        plan_digest: str,
        capacity: dict[str, float] | None = None,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
    ) -> None:
        self.is_stopped = False
        self.num_malformed = 0
        self.role = role
        self.waiting: tuple[int, ...] = ()
        self._hello = Hello(role, worker, os.getpid(), (PROTOCOL, PROTOCOL), plan_digest, capacity or {"slots": 1.0})
        self._heartbeat_s = 1.0
        self._context = context or zmq.Context()
        self._owns_context = context is None
        self._address = address
        self._orders: queue.SimpleQueue[Order | WireError] = queue.SimpleQueue()
        self._waiting: deque[tuple[int, Report]] = deque()
        self._unacked: dict[int, tuple[Report, float]] = {}
        self._held: dict[int, Held] = {}
        self._sequence = 0
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=f"wire-{worker}", daemon=True)
        self._thread.start()

    def poll(self, timeout_s: float = 0.0) -> list[Order]:
        """Return the orders that came, waiting up to `timeout_s` for the first.

        Raises:
            WireError: the coordinator refused this worker.
        """
        orders: list[Order] = []
        try:
            item = self._orders.get(timeout=timeout_s) if timeout_s > 0 else self._orders.get_nowait()
            while True:
                if isinstance(item, WireError):
                    raise item
                orders.append(item)
                item = self._orders.get_nowait()
        except queue.Empty:
            return orders

    def send(self, report: Report) -> None:
        """Queue a report; it is sent at once, and again until the ledger has it."""
        with self._lock:
            self._sequence += 1
            self._unacked[self._sequence] = (report, time.monotonic())
            self._waiting.append((self._sequence, report))
        os.eventfd_write(self._wake, 1)

    def release(self, lease: int) -> None:
        """Stop holding a lease that will not be answered, so that it goes to another worker."""
        with self._lock:
            self._held.pop(lease, None)

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Wait until every report is acknowledged; whether that came to be in time."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._unacked, timeout_s)

    def close(self, reason: str = "", timeout_s: float = 5.0) -> None:
        """Wait for acknowledgements, say goodbye and leave; safe to call twice."""
        if self._closing:
            return
        self.flush(timeout_s)
        with self._lock:
            self._waiting.append((0, Goodbye(reason)))
            self._closing = True
        os.eventfd_write(self._wake, 1)
        # The thread has nothing left to wait for but its own last message.
        self._thread.join(max(timeout_s, 5.0))
        os.close(self._wake)
        if self._owns_context:
            self._context.destroy(linger=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close(reason="" if error is None else str(error), timeout_s=5.0 if error is None else 1.0)

    def _run(self) -> None:
        socket = self._context.socket(zmq.DEALER)
        # A new process must not be taken for the one it replaces: acknowledgements are per connection.
        socket.setsockopt(zmq.IDENTITY, f"{self._hello.worker}#{secrets.token_hex(4)}".encode()[-255:])
        socket.setsockopt(zmq.LINGER, 1000)
        socket.setsockopt(zmq.RECONNECT_IVL, 20)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME_BYTES)
        socket.setsockopt(zmq.SNDHWM, 0)
        socket.setsockopt(zmq.RCVHWM, 0)
        socket.connect(self._address)
        poller = zmq.Poller()
        poller.register(socket, zmq.POLLIN)
        poller.register(self._wake, zmq.POLLIN)
        self._say(socket, [(0, self._hello)])
        beaten_s = time.monotonic()
        while True:
            # `Welcome` may shorten the beat at any time.
            wait_s = beaten_s + self._heartbeat_s - time.monotonic()
            ready = dict(poller.poll(max(0, round(wait_s * 1000))))
            if self._wake in ready:
                os.eventfd_read(self._wake)
            if socket in ready:
                self._receive(socket)
            self._send_waiting(socket)
            if self._closing and not self._waiting:
                break
            if time.monotonic() >= beaten_s + self._heartbeat_s:
                self._beat(socket)
                beaten_s = time.monotonic()
        socket.close()

    def _send_waiting(self, socket: "zmq.Socket[bytes]") -> None:
        while self._waiting:
            with self._lock:
                reports = [self._waiting.popleft() for _ in range(min(MAX_REPORTS, len(self._waiting)))]
            self._say(socket, reports)

    def _beat(self, socket: "zmq.Socket[bytes]") -> None:
        now = time.monotonic()
        with self._lock:
            late = [
                (sequence, report)
                for sequence, (report, since) in self._unacked.items()
                if now - since > 2 * self._heartbeat_s
            ]
            for sequence, report in late:
                self._unacked[sequence] = (report, now)
            held = tuple(self._held)
        self._say(socket, [(0, Heartbeat(held, self.waiting)), *late])

    def _say(self, socket: "zmq.Socket[bytes]", reports: list[tuple[int, Report]]) -> None:
        socket.send(encode_reports(reports))

    def _receive(self, socket: "zmq.Socket[bytes]") -> None:
        while True:
            try:
                frame = socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            try:
                orders = decode_orders(frame)
            except WireError:
                self.num_malformed += 1
                continue
            for order in orders:
                self._on_order(socket, order)

    def _on_order(self, socket: "zmq.Socket[bytes]", order: Order) -> None:
        if isinstance(order, Ack):
            self._on_ack(order)
        elif isinstance(order, WhoAreYou):
            self._introduce_again(socket)
        elif isinstance(order, Refused):
            self.is_stopped = True
            self._orders.put(WireError("a worker must belong to the run", got=order.reason, at=self._hello.worker))
        else:
            if isinstance(order, Welcome):
                self._heartbeat_s = order.heartbeat_s
            elif isinstance(order, Stop):
                self.is_stopped = True
                self._forget_takes(None)
            elif isinstance(order, BatchReady):
                self._forget_takes((order.lineage, order.batch.step))
            self._hold(order)
            self._orders.put(order)

    def _on_ack(self, order: Ack) -> None:
        with self._idle:
            for sequence in order.sequences:
                report, _ = self._unacked.pop(sequence, (None, 0.0))
                if isinstance(report, _ANSWERS):
                    self._held.pop(report.lease, None)
            self._idle.notify_all()

    def _introduce_again(self, socket: "zmq.Socket[bytes]") -> None:
        now = time.monotonic()
        with self._lock:
            hello = msgspec.structs.replace(self._hello, held=tuple(self._held.values()))
            again = [(sequence, report) for sequence, (report, _) in self._unacked.items()]
            for sequence, report in again:
                self._unacked[sequence] = (report, now)
            self._waiting = deque(item for item in self._waiting if item[0] == 0)
        self._say(socket, [(0, hello)])
        for start in range(0, len(again), MAX_REPORTS):
            self._say(socket, again[start : start + MAX_REPORTS])

    def _hold(self, order: Order) -> None:
        with self._lock:
            if isinstance(order, LeaseEpisode):
                self._held[order.lease] = Held(order.lease, order.episode, order.oldest)
            elif isinstance(order, LeaseVerify):
                self._held[order.lease] = Held(order.lease, order.episode)
            elif isinstance(order, LeaseTasks):
                self._held[order.lease] = Held(order.lease, -1, WeightVersion(0, 0))
            elif isinstance(order, Cancel):
                for lease in order.leases:
                    self._held.pop(lease, None)

    def _forget_takes(self, answered: tuple[int, int] | None) -> None:
        # A Take is acknowledged by its batch alone: a coordinator that restarts must be asked again.
        with self._idle:
            for sequence, (report, _) in list(self._unacked.items()):
                if isinstance(report, Take) and answered in (None, (report.lineage, report.step)):
                    del self._unacked[sequence]
            self._idle.notify_all()
