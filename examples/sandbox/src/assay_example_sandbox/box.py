"""One box: a copy of a folder, and the commands that run in it."""

import asyncio
import contextlib
import hashlib
import os
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.core.error import BoxFileError, SandboxError
from assay.core.sandbox import ExecResult, ExecStatus, Sandbox
from assay_example_sandbox.process import kill_tree

_DEFAULT_S = 60.0
_MAX_BYTES = 1 << 20


class Box:
    """See `assay.Sandbox`. Paths count from the copy, also those that begin with a slash.

    Args:
        home: Holds the work folder and the snapshots; removed on close.
        project: What `reset` goes back to.
        deadline: End of the box's time, on the clock of `time.monotonic`.
    """

    def __init__(self, home: Path, project: Path, deadline: float) -> None:
        self.home = home
        self.project = project
        self.deadline = deadline
        self.work = home / "work"
        self._num_snapshots = 0

    @classmethod
    def copy_of(cls, project: Path, home: Path, deadline: float) -> "Box":
        """Return a box that begins as a copy of a folder."""
        box = cls(home, project, deadline)
        shutil.copytree(project, box.work, symlinks=True)
        return box

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout_s: float | None = None,
    ) -> ExecResult:
        """Run a command and wait for its end; a timeout kills it with all its descendants."""
        began = time.monotonic()
        left = min(timeout_s or _DEFAULT_S, self.deadline - began)
        if left <= 0:
            return ExecResult("timeout", stderr=b"the time of the box is over")
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._inside(cwd or "."),
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.work), **(env or {})},
                start_new_session=True,
            )
        except OSError as error:
            # What a shell says of a program that is not there.
            return ExecResult("nonzero", 127, stderr=str(error).encode())
        output = [bytearray(), bytearray()]
        ended: ExecStatus | None = None
        try:
            async with asyncio.timeout(left):
                await _converse(process, stdin, output)
        except TimeoutError:
            ended = "timeout"
        except OverflowError:
            ended = "output_limit"
        finally:
            if process.returncode is None:
                kill_tree(process.pid)
            await asyncio.shield(_drain(process))
        code = process.returncode if process.returncode is not None else -signal.SIGKILL
        return ExecResult(
            ended or ("ok" if code == 0 else "signal" if code < 0 else "nonzero"),
            code if code >= 0 and ended is None else None,
            bytes(output[0][:_MAX_BYTES]),
            bytes(output[1][:_MAX_BYTES]),
            time.monotonic() - began,
        )

    async def put(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write a file, making its folders."""
        target = self._inside(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(mode)

    async def get(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        """Read a file."""
        try:
            with self._inside(path).open("rb") as file:
                data = file.read(max_bytes + 1)
        except OSError as error:
            raise BoxFileError("a file must be readable", got=error.strerror, at=path) from None
        if len(data) > max_bytes:
            raise BoxFileError(f"a file must have at most {max_bytes} bytes", at=path)
        return data

    async def snapshot(self) -> str:
        """Keep a copy of the work folder; returns its path."""
        self._num_snapshots += 1
        kept = self.home / f"snapshot-{self._num_snapshots}"
        shutil.copytree(self.work, kept, symlinks=True)
        return str(kept)

    async def fork(self, snapshot: str, n: int) -> list[Sandbox]:
        """Return `n` boxes that begin in a snapshot of this box, inside its home."""
        boxes: list[Sandbox] = []
        for number in range(n):
            home = self.home / f"fork-{Path(snapshot).name}-{number}-{time.monotonic_ns()}"
            home.mkdir()
            boxes.append(Box.copy_of(self._kept(snapshot), home, self.deadline))
        return boxes

    async def reset(self, to: str | None = None) -> None:
        """Go back to a snapshot, or to the project; no command runs between two calls, so none has to be ended."""
        start = self.project if to is None else self._kept(to)
        shutil.rmtree(self.work)
        shutil.copytree(start, self.work, symlinks=True)

    async def fingerprint(self) -> str:
        """Return a digest of names, modes and contents."""
        digest = hashlib.sha256()
        for path in sorted(self.work.rglob("*")):
            digest.update(f"{path.relative_to(self.work)} {path.lstat().st_mode}\n".encode(errors="surrogateescape"))
            digest.update(path.read_bytes() if path.is_file() else b"")
        return digest.hexdigest()

    async def close(self) -> None:
        """Remove everything; safe to call twice."""
        shutil.rmtree(self.home, ignore_errors=True)

    def _inside(self, path: str) -> Path:
        target = (self.work / path.lstrip("/")).resolve()
        if not target.is_relative_to(self.work.resolve()):
            raise BoxFileError("a path must lie inside the box", got=path)
        return target

    def _kept(self, snapshot: str) -> Path:
        kept = Path(snapshot)
        if kept.parent != self.home or not kept.is_dir():
            raise SandboxError("a snapshot must be one of this box", got=snapshot)
        return kept


async def _converse(process: asyncio.subprocess.Process, stdin: bytes, output: list[bytearray]) -> None:
    """Feed a process, collect what it says and wait for it; OverflowError where it says too much."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None

    async def feed(pipe: asyncio.StreamWriter) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            pipe.write(stdin)
            await pipe.drain()
        pipe.close()

    async def collect(pipe: asyncio.StreamReader, into: bytearray) -> None:
        while data := await pipe.read(1 << 16):
            into += data
            if len(into) > _MAX_BYTES:
                raise OverflowError

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(feed(process.stdin))
            group.create_task(collect(process.stdout, output[0]))
            group.create_task(collect(process.stderr, output[1]))
    except* OverflowError:
        raise OverflowError from None
    await process.wait()


async def _drain(process: asyncio.subprocess.Process) -> None:
    """Read the pipes of an ended process to their end: unread, they keep it from being noticed."""
    for pipe in (process.stdout, process.stderr):
        while pipe is not None and await pipe.read(1 << 16):
            pass
    await process.wait()
