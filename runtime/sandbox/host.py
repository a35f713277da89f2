"""Boxes for a loop that must not wait: calls go to a thread with an event loop, answers come back through a descriptor.

A box is never lent to another job. `open` makes it before the job begins, so that no time of the job is spent on
waiting; without it the first call does. `release` closes everything a job has, also what it forked; a call in flight is
cancelled with it.
"""

import asyncio
import contextlib
import os
import threading
from collections import deque
from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec

from assay.core.error import AssayError, BoxFileError, SandboxError
from assay.core.sandbox import ExecResult, Sandbox, SandboxBackend, SandboxSpec

METHODS = frozenset({"exec", "put", "get", "snapshot", "fork", "reset", "fingerprint", "close"})
# Between two tries of a backend that fails.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0


class BoxAnswer(msgspec.Struct, frozen=True):
    """What came of one call.

    Attributes:
        key: The job's.
        call_id: The caller's.
        value: Plain data; for `fork` the numbers of the new boxes.
        error: One line where the call failed; empty where it did not.
        is_infra: The backend failed, so that nothing measured by this job counts.
    """

    key: int
    call_id: int
    value: Any = None
    error: str = ""
    is_infra: bool = False


class BoxHost:
    """Acquires, calls and closes boxes of one backend.

    Args:
        backend: Makes them.
        acquire_s: Longest wait for one.
        patience_s: How long a backend that fails is asked again for one; counted from the first failure, so that a
            backend that stays out of order makes all jobs wait once, not each of them.
        num_boxes: Most jobs that have a box at a time; what they fork comes on top.
    """

    def __init__(
        self,
        backend: SandboxBackend,
        *,
        acquire_s: float = 60.0,
        patience_s: float = 0.5,
        num_boxes: int = 8,
    ) -> None:
        self.backend = backend
        self.acquire_s = acquire_s
        self.patience_s = patience_s
        self.num_boxes = num_boxes
        self._opened: set[int] = set()
        self._num_closing = 0
        self._failing_since_s: float | None = None
        self._closed: deque[int] = deque()
        self._answers: deque[BoxAnswer] = deque()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._boxes: dict[int, list[Sandbox]] = {}
        self._locks: dict[int, asyncio.Lock] = {}
        self._running: dict[int, set[asyncio.Task[None]]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="boxes", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        """A descriptor that is readable while answers wait."""
        return self._wake

    @property
    def has_room(self) -> bool:
        """Whether one more job may have a box; one whose box is being closed still has it."""
        while self._closed:
            self._closed.popleft()
            self._num_closing -= 1
        return len(self._opened) + self._num_closing < self.num_boxes

    def reap(self) -> None:
        """Have the backend remove what killed owners left; does not wait."""
        self._loop.call_soon_threadsafe(self._begin_reap)

    def open(self, key: int, spec: SandboxSpec, call_id: int) -> None:
        """Acquire a job's first box; an answer says that it is there, or that it cannot be had.

        Args:
            key: The job's, unique among open ones.
            spec: Of the box.
            call_id: Named in the answer.
        """
        self._opened.add(key)
        self._loop.call_soon_threadsafe(self._begin, key, self._answer_open(key, spec, call_id))

    def ask(self, key: int, spec: SandboxSpec, call_id: int, box: int, method: str, given: Mapping[str, Any]) -> None:
        """Call a method of one of a job's boxes.

        Args:
            key: The job's, unique among open ones.
            spec: Of its first box.
            call_id: Named in the answer.
            box: 0 for the first; what `fork` said for others.
            method: One of `METHODS`.
            given: Its arguments.
        """
        self._loop.call_soon_threadsafe(self._begin, key, self._answer(key, spec, call_id, box, method, given))

    def answers(self) -> list[BoxAnswer]:
        """Return the answers that came."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        found = []
        while self._answers:
            found.append(self._answers.popleft())
        return found

    def release(self, key: int) -> None:
        """Close all boxes of a job; does not wait. Safe for a job without any."""
        is_counted = key in self._opened
        self._opened.discard(key)
        self._num_closing += is_counted
        self._loop.call_soon_threadsafe(self._begin_release, key, is_counted)

    def close(self) -> None:
        """Close all boxes and wait for it."""
        asyncio.run_coroutine_threadsafe(self._release_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        os.close(self._wake)

    def _begin(self, key: int, work: Coroutine[Any, Any, None]) -> None:
        tasks = self._running.setdefault(key, set())
        task = self._loop.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _answer_open(self, key: int, spec: SandboxSpec, call_id: int) -> None:
        pause_s = _FIRST_PAUSE_S
        answer = None
        while answer is None:
            try:
                async with self._locks.setdefault(key, asyncio.Lock()):
                    self._boxes.setdefault(key, []).append(await self.backend.acquire(spec, self.acquire_s))
                self._failing_since_s = None
                answer = BoxAnswer(key, call_id)
            except Exception as error:  # a backend is a package's code; whatever it raises, there is no box
                now_s = self._loop.time()
                if self._failing_since_s is None:
                    self._failing_since_s = now_s
                until_s = self._failing_since_s + self.patience_s
                if now_s + pause_s > until_s or not isinstance(error, SandboxError):
                    said = str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
                    answer = BoxAnswer(key, call_id, None, said, is_infra=True)
                else:
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        self._answers.append(answer)
        os.eventfd_write(self._wake, 1)

    async def _answer(
        self, key: int, spec: SandboxSpec, call_id: int, box: int, method: str, given: Mapping[str, Any]
    ) -> None:
        try:
            value, is_infra = await self._call(key, spec, box, method, given)
            answer = BoxAnswer(key, call_id, value, "", is_infra)
        except AssayError as error:
            is_infra = isinstance(error, SandboxError) and not isinstance(error, BoxFileError)
            answer = BoxAnswer(key, call_id, None, str(error), is_infra)
        except Exception as error:  # a backend is a package's code; whatever it raises, the call has an answer
            # These four are what a caller's own arguments come to.
            is_infra = not isinstance(error, (TypeError, ValueError, KeyError, IndexError))
            answer = BoxAnswer(key, call_id, None, f"{type(error).__name__}: {error}", is_infra)
        self._answers.append(answer)
        os.eventfd_write(self._wake, 1)

    async def _call(
        self, key: int, spec: SandboxSpec, box: int, method: str, given: Mapping[str, Any]
    ) -> tuple[Any, bool]:
        if method not in METHODS:
            raise ValueError(f"a box has no {method}")
        boxes = self._boxes.setdefault(key, [])
        # Two first calls at once share one box.
        async with self._locks.setdefault(key, asyncio.Lock()):
            if not boxes:
                boxes.append(await self.backend.acquire(spec, self.acquire_s))
        value = await getattr(boxes[box], method)(**given)
        if method == "fork":
            boxes.extend(value)
            return list(range(len(boxes) - len(value), len(boxes))), False
        if isinstance(value, ExecResult):
            return msgspec.to_builtins(value, builtin_types=(bytes,)), value.status == "infra"
        return value, False

    def _begin_reap(self) -> None:
        async def reap() -> None:
            # A backend out of order says so when a box is wanted.
            with contextlib.suppress(Exception):
                await self.backend.reap()

        task = self._loop.create_task(reap())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _begin_release(self, key: int, is_counted: bool = False) -> None:
        # What the job has is taken at once: its next try may ask before all is closed.
        tasks, boxes = self._running.pop(key, set()), self._boxes.pop(key, [])
        self._locks.pop(key, None)
        for task in tasks:
            task.cancel()
        closing = self._loop.create_task(self._release(tasks, boxes))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        if is_counted:
            closing.add_done_callback(lambda _: self._note_closed(key))

    def _note_closed(self, key: int) -> None:
        self._closed.append(key)
        os.eventfd_write(self._wake, 1)

    async def _release(self, tasks: set[asyncio.Task[None]], boxes: list[Sandbox]) -> None:
        await asyncio.gather(*tasks, return_exceptions=True)
        for box in boxes:
            # The backend's reaper removes what cannot be closed, and whatever its code raises, the others are closed.
            with contextlib.suppress(Exception):
                await box.close()

    async def _release_all(self) -> None:
        for key in {*self._boxes, *self._running}:
            self._begin_release(key)
        await asyncio.gather(*self._closing)
