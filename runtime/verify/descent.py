"""Descendants of a process, and their end."""

import os
import signal


def end_children(*, is_first: bool) -> None:
    """Kill and collect every descendant of this process, which orphans come to.

    Args:
        is_first: This process is the first of its process namespace, so that one call reaches all others at once.
    """
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid != 0:
                continue
            if is_first:
                os.kill(-1, signal.SIGKILL)
            else:
                # Each round may meet children made since; the tree is cut at its living root, so it ends.
                for descendant in descendants(os.getpid()):
                    kill(descendant)
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def descendants(root: int) -> list[int]:
    """Return all living processes below one, read from /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    # The name in parentheses may hold anything; state and parent follow the last one.
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:
                continue
            if state != b"Z":
                children.setdefault(int(parent), []).append(int(name))
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def kill(pid: int) -> None:
    """Kill a process that may be gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
