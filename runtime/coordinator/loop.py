"""The loop around the core: drain the socket, decide, commit, then speak.

Synchronous and single-threaded: one thought at a time, and no wait but the poll. The order is the protocol: a result is
acknowledged only after the transaction that holds it, and work is leased only after the transaction that submitted it.
"""

import contextlib
import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import zmq

from assay.core.error import AssayError
from assay.core.wire import Order, Stop
from assay.runtime.coordinator import record
from assay.runtime.coordinator.core import Core
from assay.runtime.coordinator.instruction import Drained, DrainRequested, Event, Finish, Received, Send, Write
from assay.runtime.coordinator.ledger import Ledger
from assay.runtime.coordinator.recover import recover
from assay.runtime.coordinator.spec import RunSpec
from assay.runtime.coordinator.status import status
from assay.runtime.wire.server import Curve, Server, forget_address, grouped, socket_address

STATUS_S = 0.5
_encode = msgspec.json.Encoder().encode


class Loop:
    """A coordinator at work.

    Args:
        run_folder: Holds `ledger.sqlite`, `status.json` and the socket's folder.
        spec: What the run is.
        address: Where to bind; None for the run's ipc socket.
        context: Shared one for `inproc://`; None makes its own.
        curve: Keys, where the address is no local one.
        should_validate: Check every invariant after every event.

    Raises:
        ConfigError: the address is in use or not safe.
        StoreError: the ledger belongs to another plan or cannot be written.
    """

    def __init__(
        self,
        run_folder: Path,
        spec: RunSpec,
        *,
        address: str | None = None,
        context: "zmq.Context[zmq.Socket[bytes]] | None" = None,
        curve: Curve | None = None,
        should_validate: bool = False,
    ) -> None:
        self._folder = run_folder
        self._spec = spec.check()
        self._server = Server(address or socket_address(run_folder), context=context, curve=curve)
        try:
            self._ledger = Ledger(run_folder / "ledger.sqlite", spec.plan_digest)
        except AssayError:
            self._server.close()
            raise
        recovered = recover(spec, self._ledger)
        run, self._offset_s = recovered if recovered is not None else (None, 0.0)
        self._start_s = time.monotonic()
        incarnation = self._ledger.incarnation
        self.core = Core(spec, run, incarnation=incarnation, now_s=self._offset_s, should_validate=should_validate)
        self._ledger.commit([record.log("coordinator", f"start {incarnation} pid {os.getpid()}", self._offset_s)])
        self._status_from_s = 0.0
        self._stop_reasons: list[str] = []

    def stop(self, reason: str) -> None:
        """Ask for a drain; a second time ends the loop at once. Safe in a signal handler."""
        self._stop_reasons.append(reason)

    def run(self) -> Finish:
        """Work until the run is over; returns its exit code and reason."""
        try:
            while True:
                finish = self.turn()
                if finish is not None:
                    return finish
        except Exception as error:
            self._fail(error)
            raise
        finally:
            self.close()

    def close(self) -> None:
        """Leave a last status and let go of ledger and socket; for who drives `turn` alone."""
        self._write_status()
        self._ledger.close()
        self._server.close()
        forget_address(self._folder)

    def turn(self) -> Finish | None:
        """Do one drain; returns how the run ended, where it did."""
        reports = self._server.drain(self._spec.heartbeat_s / 4)
        events: list[Event] = [Received(*report) for report in reports]
        if self._stop_reasons:
            if len(self._stop_reasons) > 1:
                return Finish(130, "stopped twice")
            if not self.core.run.is_draining:
                events.append(DrainRequested(self._stop_reasons[0]))
        events.append(Drained())
        writes: list[Write] = []
        sends: list[tuple[bytes, Order]] = []
        finish: Finish | None = None
        now_s = self.now_s()
        handle = self.core.handle
        for event in events:
            for instruction in handle(event, now_s):
                if isinstance(instruction, Send):
                    sends.append((instruction.peer, instruction.order))
                elif isinstance(instruction, Write):
                    writes.append(instruction)
                else:
                    finish = instruction
        self._ledger.commit(writes)
        if sends:
            self._server.send(grouped(sends))
        if now_s >= self._status_from_s:
            self._status_from_s = now_s + STATUS_S
            self._write_status()
        return finish

    def now_s(self) -> float:
        """Return the run's clock: it stands still while no coordinator runs and never goes back."""
        return time.monotonic() - self._start_s + self._offset_s

    def _fail(self, error: Exception) -> None:
        """Leave a trace in the ledger and tell the workers, as far as either still works."""
        with contextlib.suppress(AssayError):
            self._ledger.commit([record.log("failed", f"{type(error).__name__}: {error}", self.now_s())])
        reason = f"the coordinator failed: {error}"
        self._server.send({peer: [Stop(reason)] for peer in self.core.run.workers})

    def _write_status(self) -> None:
        path = self._folder / "status.json"
        draft = path.with_suffix(".tmp")
        draft.write_bytes(_encode(status(self.core.run, self.core.stop_reason)))
        draft.replace(path)


def run_coordinator(
    run_folder: Path,
    spec: RunSpec,
    *,
    address: str | None = None,
    context: "zmq.Context[zmq.Socket[bytes]] | None" = None,
    curve: Curve | None = None,
    should_validate: bool = False,
    on_ready: Callable[[], None] | None = None,
) -> Finish:
    """Run the coordinator of a run until it ends; the exit code is 0 finished, 130 drained, 3 stuck, 1 else.

    In the main thread SIGINT and SIGTERM drain, and end the loop the second time. A run folder that holds a ledger is
    resumed from it.

    Args:
        run_folder: Exists and is writable.
        spec: What the run is.
        address: Where to bind; None for the run's ipc socket.
        context: Shared one for `inproc://`; None makes its own.
        curve: Keys, where the address is no local one.
        should_validate: Check every invariant after every event.
        on_ready: Called once the socket is bound.

    Raises:
        AssayError: the run could not begin, or a policy or the ledger failed.
    """
    loop = Loop(run_folder, spec, address=address, context=context, curve=curve, should_validate=should_validate)
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: loop.stop(signal.Signals(number).name))
        # Episodes come and go by the thousand: looking for cycles among them so often costs a tenth of the time.
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
    if on_ready is not None:
        on_ready()
    return loop.run()
