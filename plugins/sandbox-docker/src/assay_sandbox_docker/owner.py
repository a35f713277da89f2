"""Who made a container, written into its labels, so that what is orphaned can be found and removed."""

import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path

LABEL_OWNER = "assay.owner"
LABEL_UNTIL = "assay.until"


def labels(life_s: float) -> dict[str, str]:
    """Return the labels of something this process makes.

    Args:
        life_s: Seconds after which anybody may remove it.
    """
    return {LABEL_OWNER: identity(os.getpid()), LABEL_UNTIL: str(int(time.time() + life_s))}


def identity(pid: int) -> str:
    """Return `host:pid:start`, which no later process shares; start is in clock ticks since boot."""
    try:
        # The name in parentheses may hold anything; the start time is the 20th field after it.
        start = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        start = "gone"
    return f"{socket.gethostname()}:{pid}:{start}"


def is_orphan(found: Mapping[str, str]) -> bool:
    """Whether labels say that the owner is gone, or that the time is over. Another host's owner counts as alive."""
    if float(found.get(LABEL_UNTIL, "inf")) < time.time():
        return True
    owner = found.get(LABEL_OWNER, "")
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    return host == socket.gethostname() and pid.isdigit() and identity(int(pid)) != owner
