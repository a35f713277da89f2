"""`process`: commands of trusted code as plain processes in a folder of their own. It isolates nothing.

It exists for domains whose programs are one's own. A run must name it; nothing chooses it by itself. Who names it does
without `WAIVED`; what it can neither hold nor do without (bounded memory, a GPU, snapshots) no domain gets from it.

A folder says in its name who made it, and every command carries the folder in its environment: what an owner that was
killed left behind is found by both.
"""

import asyncio
import contextlib
import errno
import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.core.error import BoxFileError, SandboxError
from assay.core.sandbox import ExecResult, ExecStatus, Sandbox, SandboxSpec
from assay.runtime.verify.descent import descendants, kill

DEFAULT_TIMEOUT_S = 60.0
MAX_OUTPUT_BYTES = 1 << 20
WAIVED = frozenset({"image", "net.none", "net.full", "history.sever", "isolation.fresh"})
"""What a domain that needs it does without in a box of this backend: commands see the machine as it is."""

_PREFIX = "assay-box-"
_MARK = "ASSAY_BOX"
# A daemon that fled its session may hold the pipes open.
_DRAIN_S = 2.0
# A command that never starts because of what it is told, such as an argument of a megabyte.
_OWN = frozenset({errno.E2BIG, errno.ENAMETOOLONG, errno.ELOOP})
# A box whose commands fork faster than they are ended is left to the reaper.
_CLOSE_S = 10.0


class ProcessSandbox:
    """A folder to run commands in; made by `ProcessBackend.acquire`.

    Args:
        folder: Its own, removed on close.
        deadline: When its time is over, on the clock of `time.monotonic`.
        cpus: Cores that commands may use.
    """

    def __init__(self, folder: Path, deadline: float, cpus: frozenset[int]) -> None:
        self.folder = folder
        self.deadline = deadline
        self.cpus = cpus

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout_s: float | None = None,
    ) -> ExecResult:
        """Run a command and wait for its end; a timeout kills it with all descendants that are still its own."""
        started = time.monotonic()
        left = min(timeout_s or DEFAULT_TIMEOUT_S, self.deadline - started)
        if left <= 0:
            return ExecResult("timeout", stderr=b"the time of the box is over")
        try:
            process = await self._start(argv, env, self._inside(cwd or "."))
        except (OSError, ValueError) as error:
            # What ran before may have removed the folder, and an answer among the arguments may be anything.
            is_own = isinstance(error, (ValueError, FileNotFoundError, NotADirectoryError)) or error.errno in _OWN
            said = f"the command must start, got {error}".encode()
            return ExecResult("nonzero", 126, stderr=said) if is_own else ExecResult("infra", stderr=said)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out, err = bytearray(), bytearray()
        ended: ExecStatus | None = None
        try:
            async with asyncio.timeout(left):
                await _converse(process, stdin, out, err)
        except TimeoutError:
            ended = "timeout"
        except OverflowError:
            ended = "output_limit"
        finally:
            if process.returncode is None:
                await asyncio.shield(_end(process))
        code = await process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ExecResult(
            ended or ("ok" if code == 0 else "signal" if code < 0 else "nonzero"),
            code if code >= 0 and ended is None else None,
            bytes(out[:MAX_OUTPUT_BYTES]),
            bytes(err[:MAX_OUTPUT_BYTES]),
            time.monotonic() - started,
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        )

    async def _start(self, argv: Sequence[str], env: Mapping[str, str] | None, cwd: Path) -> asyncio.subprocess.Process:
        # taskset, of every Debian's base system: set before the command begins, not while it already runs.
        return await asyncio.create_subprocess_exec(
            *("taskset", "--cpu-list", ",".join(map(str, sorted(self.cpus)))),
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": str(self.folder),
                **(env or {}),
                _MARK: str(self.folder),
            },
            start_new_session=True,
        )

    async def put(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write a file inside the folder."""
        target = self._inside(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists() and not target.is_file():
                # A pipe would wait for a reader, and with it every other box.
                raise FileExistsError(errno.EEXIST, "something else is there")
            target.write_bytes(data)
            target.chmod(mode)
        except (FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
            raise BoxFileError("a file must be written", got=error.strerror, at=path) from None
        except OSError as error:
            raise SandboxError("a file must be written", got=error.strerror, at=path) from None

    async def get(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        """Read a file inside the folder."""
        try:
            target = self._inside(path)
            if target.exists() and not target.is_file():
                raise FileExistsError(errno.EEXIST, "it is no file")
            with target.open("rb") as file:
                data = file.read(max_bytes + 1)
        except OSError as error:
            raise BoxFileError("a file must be readable", got=error.strerror, at=path) from None
        if len(data) > max_bytes:
            raise BoxFileError(f"a file must have at most {max_bytes} bytes", at=path)
        return data

    async def snapshot(self) -> str:
        """Not declared."""
        raise _undeclared("snapshot")

    async def fork(self, snapshot: str, n: int) -> list[Sandbox]:
        """Not declared."""
        raise _undeclared("fork")

    async def reset(self, to: str | None = None) -> None:
        """Not declared."""
        raise _undeclared("reset")

    async def fingerprint(self) -> str:
        """Not declared: what a command changed outside its folder is nowhere recorded."""
        raise _undeclared("fingerprint")

    async def close(self) -> None:
        """End what commands left running and remove the folder; safe to call twice."""
        await asyncio.to_thread(_remove, self.folder)

    def _inside(self, path: str) -> Path:
        # Absolute paths count from the folder, as they would from the root of a real box.
        target = (self.folder / path.lstrip("/")).resolve()
        if not target.is_relative_to(self.folder.resolve()):
            raise BoxFileError("a path must lie inside the box", got=path)
        return target


class ProcessBackend:
    """Makes folders to run trusted commands in."""

    name = "process"
    waived = WAIVED

    def capabilities(self) -> frozenset[str]:
        """Return what it can hold a command to; isolation is not among it."""
        return frozenset({"exec", "cpu", "time"})

    async def prepare(self, image: str) -> str:
        """Return the name itself: commands run on the machine as it is."""
        return image

    async def acquire(self, spec: SandboxSpec, deadline_s: float) -> ProcessSandbox:
        """Return a new folder.

        Raises:
            SandboxError: the box must have memory bounded, and this backend cannot.
        """
        if spec.memory_bytes is not None:
            raise SandboxError("a box with bounded memory must come from another backend", got=self.name)
        cores = sorted(os.sched_getaffinity(0))
        cpus = frozenset(cores[: max(1, round(spec.cpu))])
        deadline = time.monotonic() + (spec.time_s or float("inf"))
        folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{identity(os.getpid())}-")
        return ProcessSandbox(Path(folder), deadline, cpus)

    async def reap(self) -> int:
        """Remove folders, and end their commands, whose owner was killed; returns how many folders."""
        return await asyncio.to_thread(_reap)


def identity(pid: int) -> str:
    """Return `namespace-pid-start`, which no later process shares; start is in clock ticks since boot."""
    # In another pid namespace the number means another process: whoever is there is left alone.
    space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    try:
        # The name in parentheses may hold anything; the start time is the 20th field after it.
        start = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        start = "gone"
    return f"{space}-{pid}-{start}"


def _reap() -> int:
    count = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        space, _, rest = folder.name.removeprefix(_PREFIX).partition("-")
        pid, _, rest = rest.partition("-")
        owner = f"{space}-{pid}-{rest.partition('-')[0]}"
        if pid.isdigit() and space == identity(0).partition("-")[0] and identity(int(pid)) != owner:
            _remove(folder)
            count += not folder.exists()
    return count


def _remove(folder: Path) -> None:
    """End the commands of a box and remove its folder; one that forks meanwhile is found by the next look."""
    until_s = time.monotonic() + _CLOSE_S
    while (found := _marked(folder)) and time.monotonic() < until_s:
        # All stand still first: what stands still forks nothing.
        for how in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, how)
    shutil.rmtree(folder, ignore_errors=True)


def _marked(folder: Path) -> list[int]:
    mark = f"{_MARK}={folder}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            # What ended meanwhile, and other users' processes, cannot be read.
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


async def _converse(process: asyncio.subprocess.Process, stdin: bytes, out: bytearray, err: bytearray) -> None:
    """Feed a process and collect what it says; OverflowError where it says too much."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None

    async def feed(pipe: asyncio.StreamWriter) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            pipe.write(stdin)
            await pipe.drain()
        pipe.close()

    async def collect(pipe: asyncio.StreamReader, into: bytearray) -> None:
        while data := await pipe.read(1 << 16):
            into += data
            if len(into) > MAX_OUTPUT_BYTES:
                raise OverflowError

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(feed(process.stdin))
            group.create_task(collect(process.stdout, out))
            group.create_task(collect(process.stderr, err))
    except* OverflowError:
        raise OverflowError from None
    await process.wait()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill a process, its descendants and its session."""
    for pid in (*descendants(process.pid), process.pid):
        kill(pid)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await _drain(process)
    await process.wait()


async def _drain(process: asyncio.subprocess.Process) -> None:
    """Read what a killed process left in its pipes: unread pipes keep its end from being noticed."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_S):
            for pipe in (process.stdout, process.stderr):
                while pipe is not None and await pipe.read(1 << 16):
                    pass


def _undeclared(what: str) -> SandboxError:
    return SandboxError(f"a backend must declare `{what}` to be asked for it", got="process")
