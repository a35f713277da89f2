"""Real runs for the tests of this folder: the command line, real processes, small numbers."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Few steps, few tasks.
SMALL = (
    "curriculum.stages.warmup.until=step >= 30",
    "curriculum.stages.learn.until=step >= 36",
    "eval.tasks=16",
    "trainer.checkpoint_every=10",
)


class Command:
    """An `assay` command that runs in the background, in a session of its own.

    Args:
        words: Of the command line.
        folder: Where it runs; runs are made in `runs/` below.
    """

    def __init__(self, words: tuple[str, ...], folder: Path) -> None:
        self.folder = folder
        self.log = folder / f"command-{time.monotonic_ns()}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                # Tests that run behind nohup have a command that a closed terminal ends all the same.
                ["env", "--default-signal=HUP", sys.executable, "-m", "assay", *words],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        """Everything it printed so far."""
        return self.log.read_text(encoding="utf-8")

    @property
    def run_folder(self) -> Path:
        """Folder of the newest run."""
        return (self.folder / "runs" / "latest").resolve()

    def status(self) -> dict[str, Any]:
        """What the coordinator last said; empty before the first time."""
        try:
            found: dict[str, Any] = json.loads((self.run_folder / "status.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return found

    def processes(self) -> dict[str, dict[str, Any]]:
        """Return `processes.json` by name; empty before there is one."""
        try:
            found = json.loads((self.run_folder / "processes.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return {process["name"]: process for process in found["processes"]}

    def until(self, holds: Callable[[dict[str, Any]], bool], seconds: float = 120.0) -> dict[str, Any]:
        """Wait until the status satisfies a condition; returns it.

        Raises:
            AssertionError: the command ended before, or it took too long.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            status = self.status()
            if status and holds(status):
                return status
            assert self.process.poll() is None, f"ended too soon:\n{self.output}"
            time.sleep(0.05)
        raise AssertionError(f"not in {seconds} s; status {self.status()}\n{self.output}")

    def wait(self, seconds: float = 240.0) -> int:
        """Wait for the end; returns the exit status."""
        return self.process.wait(seconds)

    def end(self) -> None:
        """End it and whatever it left; safe to call twice."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def living(launcher: int) -> list[int]:
    """Return the processes that a launcher started and that still live, found by their environment."""
    mark = f"ASSAY_LAUNCHER_PID={launcher}\0".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if mark in (entry / "environ").read_bytes() + b"\0":
                found.append(int(entry.name))
        except OSError:
            continue
    return found
