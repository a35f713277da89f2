"""One container as a sandbox."""

import asyncio
import contextlib
import hashlib
import io
import json
import re
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from assay.core.error import BoxFileError, SandboxError
from assay.core.sandbox import ExecResult, ExecStatus, Sandbox, SandboxSpec
from assay_sandbox_docker import owner, stream

if TYPE_CHECKING:
    from assay_sandbox_docker.backend import DockerBackend

DEFAULT_TIMEOUT_S = 60.0
MAX_OUTPUT_BYTES = 1 << 20
# For the backend's own short commands.
_INSIDE_S = 10.0
_P = ParamSpec("_P")
_R = TypeVar("_R")

# Refs but the checked-out commit's, reflogs and what only they reach: later commits would hold the solution.
# Without capabilities root writes its own files only, so each owner does its own repositories.
_SEVER = r"""
list() { find / -xdev -name .git -type d "$@" -prune 2>/dev/null; }
[ -z "$(list ! -user 0 ! -user "$1")" ] || { echo "a repository of another user cannot be severed" >&2; exit 1; }
list -user "$(id -u)" > /tmp/.sever || exit 1
while read -r folder; do
  git() { command git --git-dir="$folder" -c safe.directory='*' -c gc.auto=0 "$@"; }
  head=$(git rev-parse --verify HEAD 2>/dev/null) || continue
  git update-ref --no-deref HEAD "$head" || exit 1
  git for-each-ref --format='delete %(refname)' | git update-ref --stdin || exit 1
  rm -rf "$folder"/logs "$folder"/FETCH_HEAD "$folder"/ORIG_HEAD "$folder"/objects/info/alternates
  git gc -q --prune=now || exit 1
done < /tmp/.sever
rm -f /tmp/.sever
"""


def in_thread(function: Callable[_P, _R]) -> Callable[_P, Any]:
    """Run a blocking method in a thread, with the engine's errors as SandboxError.

    Returns Any rather than a coroutine's type: mypy and pyright do not agree on the one that the protocol wants.
    """

    @wraps(function)
    async def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await asyncio.to_thread(guarded, partial(function, *args, **kwargs))

    return run


def guarded(function: Callable[..., _R], *args: Any, **kwargs: Any) -> _R:
    """Call a function; what the engine or the connection to it raises becomes SandboxError."""
    import docker.errors
    import requests

    try:
        return function(*args, **kwargs)
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise SandboxError(
            "the Docker engine must do what it is asked",
            got=" ".join(str(error).split())[:400],
            todo="`docker info` says whether it runs; DOCKER_HOST names another one",
        ) from error


class DockerSandbox:
    """One container; made by `DockerBackend.acquire`.

    Args:
        backend: Who made it.
        spec: What was asked for.
        image: Id of the image or snapshot it began in.
        container: The SDK's object.
    """

    def __init__(self, backend: "DockerBackend", spec: SandboxSpec, image: str, container: Any) -> None:
        self.backend = backend
        self.spec = spec
        self.image = image
        self.container = container
        self.snapshots: list[str] = []
        self.is_closed = False
        self.deadline = time.monotonic() + (spec.time_s or float("inf"))
        self._num_oom_kills = 0

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout_s: float | None = None,
    ) -> ExecResult:
        """Run a command; see `assay.Sandbox`. A timeout ends every process of the box, as does a cancellation."""
        left_s = min(timeout_s or DEFAULT_TIMEOUT_S, self.deadline - time.monotonic())
        if left_s <= 0:
            return ExecResult("timeout", stderr=b"the time of the box is over")
        try:
            return await asyncio.to_thread(guarded, self._exec, argv, stdin, env, cwd, left_s, MAX_OUTPUT_BYTES)
        except SandboxError as error:
            return ExecResult("infra", stderr=str(error).encode())
        except asyncio.CancelledError:
            # The thread goes on until its command ends: it is ended here.
            with contextlib.suppress(SandboxError):
                await asyncio.shield(asyncio.to_thread(guarded, self._end_processes))
            raise

    @in_thread
    def put(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write a file through a process inside: the engine's archive call fails on a read-only root."""
        script = f'mkdir -p -- "$(dirname -- "$1")" && head -c {len(data)} > "$1" && chmod {mode:o} -- "$1"'
        argv = ["/bin/sh", "-c", script, "put", path]
        result = self._exec(argv, data, None, None, DEFAULT_TIMEOUT_S, MAX_OUTPUT_BYTES)
        if not result.ok:
            raise _file_error(result)("a file must be written", got=_said(result), at=path)

    @in_thread
    def get(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        """Read a file; see `assay.Sandbox`."""
        argv = ["head", "-c", str(max_bytes + 1), "--", path]
        result = self._exec(argv, b"", None, None, DEFAULT_TIMEOUT_S, max_bytes + 4096)
        if not result.ok:
            raise _file_error(result)("a file must be readable", got=_said(result), at=path)
        if len(result.stdout) > max_bytes:
            raise BoxFileError(f"a file must have at most {max_bytes} bytes", at=path)
        return result.stdout

    @in_thread
    def snapshot(self) -> str:
        """Keep the file system; returns the image's id. Files in a tmpfs are not part of it."""
        labels = [
            f"LABEL {key}={json.dumps(value)}" for key, value in owner.labels(self.backend.life_s(self.spec)).items()
        ]
        image: str = self.container.commit(changes=labels).id
        self.snapshots.append(image)
        return image

    @in_thread
    def fork(self, snapshot: str, n: int) -> list[Sandbox]:
        """Return fresh boxes that begin in a snapshot; those made before a failure are removed."""
        made: list[DockerSandbox] = []
        try:
            for _ in range(n):
                container = self.backend.create(snapshot, self.spec)
                made.append(DockerSandbox(self.backend, self.spec, snapshot, container))
        except BaseException:
            for box in made:
                box._remove()
            raise
        return [*made]

    @in_thread
    def reset(self, to: str | None = None) -> None:
        """Replace the container by a fresh one of a snapshot, or of the image."""
        self.container.remove(force=True, v=True)
        self.container = self.backend.create(to or self.image, self.spec)
        self._num_oom_kills = 0

    @in_thread
    def fingerprint(self) -> str:
        """Return a digest of the image and of every path that differs from it, read by the engine, not by the box."""
        found = hashlib.sha256(self.image.encode())
        for change in sorted(self.container.diff() or (), key=lambda change: change["Path"]):
            found.update(f"{change['Kind']} {change['Path']}\0".encode())
            if change["Kind"] != 2:
                found.update(self._digest_of(change["Path"]))
        return found.hexdigest()

    @in_thread
    def close(self) -> None:
        """Remove the container and the snapshots made from it; safe to call twice."""
        if not self.is_closed:
            self.is_closed = True
            self._remove()

    def sever(self) -> None:
        """Remove all git history that the checked-out commits do not reach; runs before the policy sees the box."""
        own = self.backend.user.partition(":")[0]
        for user in ("0", own):
            argv = ["/bin/sh", "-c", _SEVER, "sever", own]
            result = self._exec(argv, b"", None, None, 10 * DEFAULT_TIMEOUT_S, MAX_OUTPUT_BYTES, user)
            if not result.ok:
                raise SandboxError("git history must be severed", got=_said(result), at=self.spec.image)

    def _exec(
        self,
        argv: Sequence[str],
        stdin: bytes,
        env: Mapping[str, str] | None,
        cwd: str | None,
        timeout_s: float,
        max_bytes: int,
        user: str = "",
    ) -> ExecResult:
        api = self.backend.client.api
        started = time.monotonic()
        made = api.exec_create(
            self.container.id,
            list(argv),
            stdin=True,
            environment=dict(env or {}),
            workdir=cwd,
            user=user or self.backend.user,
        )
        captured = stream.run(api, made["Id"], stdin, started + timeout_s, max_bytes)
        wall_s = time.monotonic() - started
        if captured.end != "closed":
            self._end_processes()
            return ExecResult(captured.end, None, captured.stdout, captured.stderr, wall_s)
        code = api.exec_inspect(made["Id"])["ExitCode"]
        status = self._status(code, captured)
        return ExecResult(
            status, code if code is not None and code < 128 else None, captured.stdout, captured.stderr, wall_s
        )

    def _status(self, code: int | None, captured: stream.Captured) -> ExecStatus:
        if code == 0:
            return "ok"
        self.container.reload()
        state = self.container.attrs["State"]
        if code is None or not state["Running"]:
            return "oom" if state["OOMKilled"] else "infra"
        if code == 137 and self._was_out_of_memory():
            return "oom"
        if code > 128:
            return "signal"
        return "disk_full" if b"No space left on device" in captured.stderr else "nonzero"

    def _was_out_of_memory(self) -> bool:
        """Whether the kernel killed for memory since last asked. The engine's own flag also tells of earlier kills."""
        files = "/sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events"
        said = self._inside(f"cat {files} 2>/dev/null").decode(errors="replace")
        counted = sum(int(number) for number in re.findall(r"(?m)^oom_kill (\d+)$", said))
        before, self._num_oom_kills = self._num_oom_kills, counted
        return counted > before

    def _end_processes(self) -> None:
        """Kill all of the user's processes, which only spares the first: so the grandchildren of an exec end too."""
        self._inside("kill -9 -1")

    def _inside(self, script: str) -> bytes:
        api = self.backend.client.api
        made = api.exec_create(self.container.id, ["/bin/sh", "-c", script], stdin=True, user=self.backend.user)
        return stream.run(api, made["Id"], b"", time.monotonic() + _INSIDE_S, 4096).stdout

    def _digest_of(self, path: str) -> bytes:
        chunks, _ = self.container.get_archive(path)
        found = hashlib.sha256()
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
            for member in archive:
                found.update(f"{member.name} {member.mode} {member.uid} {member.gid} {member.linkname}\0".encode())
                if (file := archive.extractfile(member)) is not None and path.endswith(member.name):
                    found.update(file.read())
        return found.digest()

    def _remove(self) -> None:
        # v=True: anonymous volumes outlive their container otherwise, and fill the disk.
        self.backend.remove(self.container)
        for image in self.snapshots:
            self.backend.remove_image(image)


def _file_error(result: ExecResult) -> type[SandboxError]:
    return SandboxError if result.status == "infra" else BoxFileError


def _said(result: ExecResult) -> str:
    said = " ".join(result.stderr.decode(errors="replace").split())[:300]
    return f"{result.status} {said}".strip()
