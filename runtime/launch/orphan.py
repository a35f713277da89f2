"""Processes that outlived who started them come to the launcher, which ends them."""

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
# Ended processes are gone within milliseconds; one that is not is stuck in the kernel.
_PATIENCE_S = 10.0


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_descendants() -> list[int]:
    """End every process below this one and collect them; returns those that were found.

    Only for a process that has no other children to keep.
    """
    found: set[int] = set()
    deadline = time.monotonic() + _PATIENCE_S
    while living := descendants(os.getpid()):
        found.update(living)
        for pid in living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _collect()
        if time.monotonic() > deadline:
            break
        time.sleep(0.005)
    _collect()
    return sorted(found)


def descendants(pid: int) -> list[int]:
    """Return the processes below one, whatever session they are in; zombies left out."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    below, waiting = [], [pid]
    while waiting:
        mine = children.get(waiting.pop(), [])
        below += mine
        waiting += mine
    return below


def _collect() -> None:
    """Collect ended children that no `Popen` waits for."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
