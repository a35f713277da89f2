"""Sandboxes: where programs that nobody trusts run."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

import msgspec

ExecStatus = Literal["ok", "nonzero", "signal", "timeout", "oom", "output_limit", "disk_full", "infra"]


class ExecResult(msgspec.Struct, frozen=True):
    """How one command ended.

    Attributes:
        status: `infra` is the backend's failure and makes the episode unscored; everything else is a result.
        exit_code: Of the command; None where it has none.
        stdout: Captured bytes, cut at the output limit.
        stderr: Captured bytes, cut at the output limit.
        wall_s: Seconds the command ran.
        cpu_s: CPU seconds it used.
        memory_bytes: Its peak.
        queue_s: Seconds it waited for a box.
    """

    status: ExecStatus
    exit_code: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory_bytes: int = 0
    queue_s: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the command ran and exited with 0."""
        return self.status == "ok"


class SandboxSpec(msgspec.Struct, frozen=True):
    """What a box must be like.

    Attributes:
        image: Name of the image.
        net: `none`, or `full`.
        cpu: Cores.
        memory_bytes: Limit; None for the backend's default.
        time_s: Longest life; None for the backend's default.
        history: `sever` hides later commits, `keep` does not.
    """

    image: str
    net: Literal["none", "full"] = "none"
    cpu: float = 1.0
    memory_bytes: int | None = None
    time_s: float | None = None
    history: Literal["sever", "keep"] = "sever"


class Sandbox(Protocol):
    """One box. Methods raise SandboxError only where the backend failed, and BoxFileError where a file did."""

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
        ...

    async def put(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write a file, making its folders; BoxFileError where what ran inside left no way to."""
        ...

    async def get(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        """Read a file; BoxFileError where it is absent, or larger than `max_bytes`."""
        ...

    async def snapshot(self) -> str:
        """Keep the present state of the file system; returns its name."""
        ...

    async def fork(self, snapshot: str, n: int) -> "list[Sandbox]":
        """Return `n` fresh boxes that begin in a snapshot."""
        ...

    async def reset(self, to: str | None = None) -> None:
        """End all processes and go back to a snapshot, or to the image."""
        ...

    async def fingerprint(self) -> str:
        """Return a digest of everything in the box that could change a grade."""
        ...

    async def close(self) -> None:
        """Give the box back; safe to call twice."""
        ...


@runtime_checkable
class SandboxBackend(Protocol):
    """Makes boxes; what `assay_sandboxes` offers.

    Attributes:
        name: Unique among installed backends.
    """

    name: str

    def capabilities(self) -> frozenset[str]:
        """Return what the backend declares, without asking any daemon.

        Known words: `exec`, `image`, `net.none`, `net.full`, `cpu`, `memory`, `time`, `history.sever`,
        `isolation.fresh`, `snapshot`, `fork`, `gpu`.
        """
        ...

    async def prepare(self, image: str) -> str:
        """Make an image ready; returns its digest."""
        ...

    async def acquire(self, spec: SandboxSpec, deadline_s: float) -> Sandbox:
        """Return a fresh box within `deadline_s` seconds, or raise SandboxError."""
        ...

    async def reap(self) -> int:
        """Remove boxes whose owner is gone; returns how many."""
        ...
