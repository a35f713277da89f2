"""The local launcher: all processes on this machine, started at once, supervised until the run is over.

A process that ends before the run does is started again: workers lose their leases, the trainer comes back from its
checkpoint and the coordinator from the ledger. One lost rank restarts the whole rank group. Invariants: every process
runs in its own session and ignores the terminal's Ctrl-C; threads of all engines and trainers together do not exceed
the cores; when `run` returns no process of the run is alive.
"""

import contextlib
import json
import math
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

from assay.core.error import RunFailed
from assay.core.launcher import Launch
from assay.runtime.launch.child import Child
from assay.runtime.launch.orphan import adopt_orphans, end_descendants
from assay.runtime.run.environment import rank_environment
from assay.runtime.run.folder import RunFolder

# Ends of one process in a row, each soon after its start.
_MAX_FAILURES = 3
_TICK_S = 0.5
# A worker that left in order comes back if the run is not over so much later.
_SECOND_THOUGHTS_S = 5.0
# Exit status of a run that was ended in order.
DRAINED = 130
# After the coordinator has ended, workers have its Stop already.
_FAREWELL_S = 20.0


class LocalLauncher:
    """Starts and supervises one run; see `assay.core.launcher.Launcher`.

    Args:
        launch: What to start.
    """

    def __init__(self, launch: Launch) -> None:
        self._folder = RunFolder(launch.folder)
        self._address = launch.address
        self._children = [Child(one.role, one.name, list(one.argv), one.environ, one.log) for one in launch.processes]
        self._pidfds: dict[int, Child] = {}
        self._poller = select.poll()
        self._is_draining = False
        self._left: dict[str, float] = {}
        self.status: int | None = None

    def run(self, tick: Callable[[], None] | None = None) -> int:
        """Start everything and return the coordinator's exit status when the run is over.

        Args:
            tick: Called about twice a second.

        Raises:
            RunFailed: a process ended again and again right after its start.
        """
        adopt_orphans()
        try:
            self._renew_ranks()
            for child in self._children:
                self._start(child)
            self._write_processes()
            while self.status is None:
                self._pass(_TICK_S)
                if tick is not None:
                    tick()
            self._farewell()
            return self.status
        finally:
            self.end()

    def drain(self) -> None:
        """Ask the coordinator to end the run in order."""
        if not self._is_draining:
            self._is_draining = True
            self._children[0].signal(signal.SIGTERM)

    def end(self) -> None:
        """End every process at once; safe to call twice."""
        for child in self._children:
            child.signal_group(signal.SIGKILL)
        for number, child in list(self._pidfds.items()):
            if child.is_alive:
                child.note_end()
            self._forget(number)
        end_descendants()
        self._write_processes()

    def _pass(self, timeout_s: float) -> None:
        ended = [self._pidfds[number] for number, _ in self._poller.poll(timeout_s * 1000)]
        for number in [number for number, child in self._pidfds.items() if child in ended]:
            self._forget(number)
        for child in ended:
            self._on_end(child, child.note_end())
        for child in self._children:
            if self.status is None and time.monotonic() > self._left.get(child.name, math.inf):
                del self._left[child.name]
                self._start(child)
                ended.append(child)
        if ended:
            self._write_processes()

    def _on_end(self, child: Child, status: int) -> None:
        if child.role == "coordinator":
            # A status of its own is a decision; a signal or a crash is not, unless it was asked to end before it
            # could listen.
            if status >= 0 or (self._is_draining and status == -signal.SIGTERM):
                self.status = status if status >= 0 else DRAINED
                return
            self._is_draining = False
        if status == 0:
            # It was told to stop; the coordinator's own end follows, unless it was killed in between.
            self._left[child.name] = time.monotonic() + _SECOND_THOUGHTS_S
            return
        if child.num_failures >= _MAX_FAILURES:
            raise RunFailed(
                f"{child.name} must stay alive",
                got=f"{child.num_failures} ends in a row, the last with {status}: {child.last_words()}",
                at=child.log,
            )
        if child.role == "update" and len(self._ranks) > 1:
            self._restart_ranks()
        else:
            self._start(child)

    @property
    def _ranks(self) -> list[Child]:
        return [child for child in self._children if child.role == "update"]

    def _restart_ranks(self) -> None:
        ranks = self._ranks
        for number, child in list(self._pidfds.items()):
            if child in ranks:
                child.signal_group(signal.SIGKILL)
                child.note_end()
                self._forget(number)
        self._renew_ranks()
        for child in ranks:
            self._start(child)

    def _renew_ranks(self) -> None:
        """Give the rank group a fresh port: the former one may still be bound."""
        ranks = self._ranks
        if len(ranks) < 2:
            return
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        for rank, child in enumerate(ranks):
            child.environ |= rank_environment(rank, len(ranks), port)

    def _start(self, child: Child) -> None:
        number = child.start()
        self._pidfds[number] = child
        self._poller.register(number, select.POLLIN)

    def _forget(self, number: int) -> None:
        with contextlib.suppress(KeyError):
            self._poller.unregister(number)
        if self._pidfds.pop(number, None) is not None:
            os.close(number)

    def _farewell(self) -> None:
        """Let workers finish what they are sending; they were told to stop."""
        deadline = time.monotonic() + _FAREWELL_S
        while self._pidfds and (left := deadline - time.monotonic()) > 0:
            ready = self._poller.poll(left * 1000)
            for number, _ in ready:
                self._pidfds[number].note_end()
                self._forget(number)

    def _write_processes(self) -> None:
        """Say who runs: role, name, pid, command, socket and every former life."""
        processes: list[dict[str, Any]] = [
            {
                "role": child.role,
                "name": child.name,
                "pid": child.pid,
                "argv": child.argv,
                "socket": self._address,
                "is_alive": child.is_alive,
                "lives": child.history,
            }
            for child in self._children
        ]
        content = {"launcher": os.getpid(), "processes": processes}
        draft = self._folder.processes.with_suffix(".draft")
        # On a full disk the last version stays; ending the processes matters more.
        with contextlib.suppress(OSError):
            draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            draft.replace(self._folder.processes)
