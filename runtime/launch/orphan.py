"""Processes that outlived who started them come to the launcher, which ends them."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
# Ended processes are gone within milliseconds; one that is not is stuck in the kernel.
_PATIENCE_S = 10.0


_spared: set[int] = set()


def spare(pid: int) -> None:
    """Leave a process, and what is below it, out of `end_descendants`: it belongs to the command, not to the run."""
    _spared.add(pid)


def leave(pid: int) -> None:
    """Spare a process no longer: it has ended."""
    _spared.discard(pid)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_descendants() -> list[int]:
    """End every process below this one, but those to `spare`, and collect them; returns those that were found."""
    found: set[int] = set()
    deadline = time.monotonic() + _PATIENCE_S
    while living := descendants(os.getpid(), _spared):
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


def descendants(pid: int, spared: Collection[int] = ()) -> list[int]:
    """Return the processes below one, whatever session they are in; zombies, and spared ones with theirs, left out."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z" and int(entry.name) not in spared:
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
        # Looked at first: the status of a spared one is its `Popen`'s.
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid in _spared:
                break
            os.waitpid(ended.si_pid, 0)
