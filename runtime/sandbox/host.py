"""Boxes for a loop that must not wait: calls go to a thread with an event loop, answers come back through a descriptor.

A box is acquired at the first call of its job and never lent to another. `release` closes everything a job has, also
what it forked; a call in flight is cancelled with it.
"""

import asyncio
import contextlib
import os
import threading
from collections import deque
from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec

from assay.core.error import AssayError, SandboxError
from assay.core.sandbox import ExecResult, Sandbox, SandboxBackend, SandboxSpec

METHODS = frozenset({"exec", "put", "get", "snapshot", "fork", "reset", "fingerprint", "close"})


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
    """

    def __init__(self, backend: SandboxBackend, *, acquire_s: float = 60.0) -> None:
        self.backend = backend
        self.acquire_s = acquire_s
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
        self._loop.call_soon_threadsafe(self._begin_release, key)

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

    async def _answer(
        self, key: int, spec: SandboxSpec, call_id: int, box: int, method: str, given: Mapping[str, Any]
    ) -> None:
        try:
            value, is_infra = await self._call(key, spec, box, method, given)
            answer = BoxAnswer(key, call_id, value, "", is_infra)
        except AssayError as error:
            answer = BoxAnswer(key, call_id, None, str(error), isinstance(error, SandboxError))
        except (TypeError, ValueError, KeyError, IndexError) as error:
            answer = BoxAnswer(key, call_id, None, f"{type(error).__name__}: {error}")
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

    def _begin_release(self, key: int) -> asyncio.Task[None]:
        # What the job has is taken at once: its next try may ask before all is closed.
        tasks, boxes = self._running.pop(key, set()), self._boxes.pop(key, [])
        self._locks.pop(key, None)
        for task in tasks:
            task.cancel()
        closing = self._loop.create_task(self._release(tasks, boxes))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        return closing

    async def _release(self, tasks: set[asyncio.Task[None]], boxes: list[Sandbox]) -> None:
        await asyncio.gather(*tasks, return_exceptions=True)
        for box in boxes:
            # The backend's reaper removes what cannot be closed.
            with contextlib.suppress(SandboxError):
                await box.close()

    async def _release_all(self) -> None:
        for key in {*self._boxes, *self._running}:
            self._begin_release(key)
        await asyncio.gather(*self._closing)
