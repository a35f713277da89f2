"""One process of a run, in a session of its own, through all its restarts."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# A process that lived this long did not fail to start.
_SETTLED_S = 30.0


class Child:
    """A process that is started again when it ends.

    Args:
        role: `coordinator`, `source`, `rollout`, `verify` or `update`.
        name: Survives restarts.
        argv: Command.
        environ: Whole environment.
        log: Gets standard output and error.

    Attributes:
        process: The present one; None before the first start.
        num_restarts: Starts after the first.
        num_failures: Ends in a row that came soon after a start.
    """

    def __init__(self, role: str, name: str, argv: list[str], environ: Mapping[str, str], log: Path) -> None:
        self.role = role
        self.name = name
        self.argv = argv
        self.environ = dict(environ)
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self.num_restarts = -1
        self.num_failures = 0
        self.started_s = 0.0
        self.history: list[dict[str, Any]] = []

    @property
    def pid(self) -> int:
        """Process id; 0 where it never started."""
        return 0 if self.process is None else self.process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self.process is not None and self.process.returncode is None

    def start(self) -> int:
        """Start it; returns a descriptor that is readable once it has ended.

        Raises:
            OSError: the command cannot be run.
        """
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environ,
                start_new_session=True,
            )
        self.started_s = time.monotonic()
        self.num_restarts += 1
        self.history.append({"pid": self.pid, "started_at": time.time()})
        return os.pidfd_open(self.pid)

    def note_end(self) -> int:
        """Collect the exit status, negative for a signal, and count ends that came too soon."""
        assert self.process is not None
        status = self.process.wait()
        has_settled = time.monotonic() - self.started_s > _SETTLED_S
        self.num_failures = 1 if has_settled else self.num_failures + 1
        self.history[-1] |= {"ended_at": time.time(), "exit": status}
        # What it started shares its session and its group.
        self.signal_group(signal.SIGKILL)
        return status

    def signal(self, number: int) -> None:
        """Signal the process alone."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)

    def signal_group(self, number: int) -> None:
        """Signal the process and everything in its group."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)

    def last_words(self) -> str:
        """Return the last line of its log."""
        return last_words(self.log)


def last_words(path: Path) -> str:
    """Return the last line of a process's log, or its last error; empty where there is none."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - 4096))
            lines = [line.strip() for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    lines = [line for line in lines if not line.startswith("imported:")]
    errors = [line for line in lines if line.startswith("error[")]
    return (errors or lines or [""])[-1]
