"""The processes of a host: started as the load grows, replaced when they have done their share, found by what is read.

Leaves of one distribution that run the same way share processes. Who runs what in them is the host's business.
"""

import select
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from assay.core.error import PluginError
from assay.runtime.verify.flight import Key, Slot, VerifierRef
from assay.runtime.verify.message import Limits, Setup
from assay.runtime.verify.path import plugin_paths
from assay.runtime.verify.process import WorkerProcess

_MAX_FAILED_STARTS = 3


class ProcessPool:
    """Processes by distribution and mode.

    Args:
        num_processes: Most per distribution and mode.
        limits: What each may use.
        paths: Further folders that workers import from.
        namespaces: Enter namespaces where the system lets.
        folder: Where scratch folders are made; None for the system's.
        clock: Seconds, never going back.
    """

    def __init__(
        self,
        num_processes: int,
        limits: Limits,
        paths: Sequence[str],
        namespaces: bool,
        folder: Path | None,
        clock: Callable[[], float],
    ) -> None:
        self.num_processes = num_processes
        self.limits = limits
        self.refs: dict[Key, list[str]] = {}
        self._paths = tuple(paths)
        self._namespaces = namespaces
        self._folder = folder
        self._clock = clock
        self._failed_starts: dict[Key, int] = {}
        self._slots: dict[int, Slot] = {}
        self._epoll = select.epoll()

    def __iter__(self) -> Iterator[Slot]:
        """Iterate over the processes there are now; they may come and go meanwhile."""
        return iter(list(self._slots.values()))

    def of(self, key: Key) -> list[Slot]:
        """Return the processes of a key."""
        return [slot for slot in self._slots.values() if slot.key == key]

    def fileno(self) -> int:
        """A descriptor that is readable when any process, or any other that is heard, has something to say."""
        return self._epoll.fileno()

    def hear(self, fileno: int) -> None:
        """Wait for somebody else too."""
        self._epoll.register(fileno, select.EPOLLIN)

    def wait(self, timeout_s: float) -> list[Slot | None]:
        """Return those that have something to say; None is somebody else."""
        return [self._slots.get(number) for number, _ in self._epoll.poll(timeout_s)]

    def start(self, refs: Sequence[VerifierRef]) -> None:
        """Have at least one process per key that knows all its leaves."""
        for leaf in refs:
            key = Key.of(leaf)
            known = self.refs.setdefault(key, [])
            if leaf.ref not in known:
                known.append(leaf.ref)
            self._failed_starts.setdefault(key, 0)
        for slot in self:
            if slot.num_refs < len(self.refs[slot.key]):
                self.leave(slot)
        for key in self.refs:
            if not self.of(key):
                self.spawn(key)

    def grow(self, key: Key, num_waiting: int) -> None:
        """Start one more process where more wait than processes are on their way, as far as allowed."""
        slots = self.of(key)
        num_starting = sum(slot.process.hello is None for slot in slots)
        if num_waiting > num_starting and len(slots) < self.num_processes:
            self.spawn(key)

    def spawn(self, key: Key) -> None:
        """Start a process; does not wait for it."""
        refs = tuple(self.refs[key])
        setup = Setup(refs, key.mode, key.net, (*self._paths, *plugin_paths(refs)), self.limits, self._namespaces)
        process = WorkerProcess(setup, self._folder)
        slot = Slot(process, key, self._clock(), len(refs))
        self._slots[process.channel.fileno()] = slot
        self._epoll.register(process.channel.fileno(), select.EPOLLIN)
        self.watch(slot)

    def has_started(self, key: Key) -> None:
        """A process of a key is ready: earlier starts that failed are forgiven."""
        self._failed_starts[key] = 0

    def has_failed(self, key: Key, reason: str) -> None:
        """A process of a key ended before it was ready.

        Raises:
            PluginError: as others before it.
        """
        self._failed_starts[key] += 1
        if self._failed_starts[key] >= _MAX_FAILED_STARTS:
            raise PluginError("a plugin must load in its worker", got=reason, at=key.dist)

    def watch(self, slot: Slot) -> None:
        """Wait for a process to read on, where something waits to be sent to it."""
        number = slot.process.channel.fileno()
        if number in self._slots:
            self._epoll.modify(number, select.EPOLLIN | (select.EPOLLOUT if slot.process.has_output else 0))

    def remove(self, slot: Slot) -> str:
        """End a process; returns one line on how it ended."""
        number = slot.process.channel.fileno()
        del self._slots[number]
        self._epoll.unregister(number)
        return slot.process.end()

    def leave(self, slot: Slot) -> None:
        """Replace a process, once nothing is in flight in it."""
        slot.is_leaving = True
        if not slot.flights:
            self.remove(slot)
            self.spawn(slot.key)

    def leave_worn(self, slot: Slot, *, rss_bytes: int, is_dirty: bool) -> None:
        """Replace a process that has grown, has done its share or is not as clean as it was."""
        hello = slot.process.hello
        has_grown = hello is not None and rss_bytes > hello.rss_bytes + self.limits.max_growth_bytes
        if slot.is_leaving or is_dirty or has_grown or slot.process.num_jobs >= self.limits.max_jobs:
            self.leave(slot)

    def close(self) -> None:
        """End all processes."""
        for slot in self:
            self.remove(slot)
        self._epoll.close()
