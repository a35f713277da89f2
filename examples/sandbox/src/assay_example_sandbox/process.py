"""A process and everything that came of it."""

import contextlib
import os
import signal
from pathlib import Path


def kill_tree(pid: int) -> None:
    """Kill a process and its descendants, also those in sessions of their own."""
    found = [pid]
    for parent in found:
        found += _children(parent)
    for one in reversed(found):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(word) for task in Path(f"/proc/{pid}/task").iterdir() for word in _words(task / "children")]
    return []


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
