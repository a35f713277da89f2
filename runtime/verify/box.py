"""The box of a verifier, seen from its locked-down worker: every call goes to the host, which holds the real one."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.error import SandboxError
from assay.core.sandbox import ExecResult, Sandbox
from assay.runtime.verify.message import BoxCall, BoxReply

Send = Callable[[BoxCall], Awaitable[None]]


class BoxLine:
    """Calls on their way to the host, by number.

    Args:
        send: Sends one message.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._num_calls = 0

    async def ask(self, job_id: int, box: int, method: str, given: dict[str, Any]) -> Any:
        """Call a method of a box and wait for its value.

        Raises:
            SandboxError: the call failed.
        """
        self._num_calls += 1
        call_id = self._num_calls
        future = self._waiting[call_id] = asyncio.get_running_loop().create_future()
        try:
            await self._send(BoxCall(job_id, call_id, box, method, given))
            return await future
        finally:
            del self._waiting[call_id]

    def take(self, reply: BoxReply) -> None:
        """Hand a reply to whoever waits; nobody may: a call that timed out."""
        future = self._waiting.get(reply.call_id)
        if future is None or future.done():
            return
        if reply.error:
            future.set_exception(SandboxError("a box must do what it is asked", got=reply.error))
        else:
            future.set_result(reply.value)


class RemoteBox:
    """A box as `assay.Sandbox` describes it."""

    def __init__(self, line: BoxLine, job_id: int, box: int = 0) -> None:
        self._line = line
        self._job_id = job_id
        self._box = box

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout_s: float | None = None,
    ) -> ExecResult:
        """Run a command."""
        given = {"argv": list(argv), "stdin": stdin, "env": dict(env or {}), "cwd": cwd, "timeout_s": timeout_s}
        return msgspec.convert(await self._ask("exec", given), ExecResult)

    async def put(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write a file."""
        await self._ask("put", {"path": path, "data": data, "mode": mode})

    async def get(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        """Read a file."""
        return bytes(await self._ask("get", {"path": path, "max_bytes": max_bytes}))

    async def snapshot(self) -> str:
        """Keep the file system."""
        return str(await self._ask("snapshot", {}))

    async def fork(self, snapshot: str, n: int) -> list[Sandbox]:
        """Return fresh boxes of a snapshot."""
        numbers = await self._ask("fork", {"snapshot": snapshot, "n": n})
        return [RemoteBox(self._line, self._job_id, number) for number in numbers]

    async def reset(self, to: str | None = None) -> None:
        """Go back to a snapshot or the image."""
        await self._ask("reset", {"to": to})

    async def fingerprint(self) -> str:
        """Return a digest of what could change a grade."""
        return str(await self._ask("fingerprint", {}))

    async def close(self) -> None:
        """Give it back; the host does so anyway when the call ends."""
        await self._ask("close", {})

    async def _ask(self, method: str, given: dict[str, Any]) -> Any:
        return await self._line.ask(self._job_id, self._box, method, given)
