"""Where the weights of a run lie: in memory where there is room, else in the run folder.

The launcher removes the folder at the end of a run and calls `reap_weight_folders` at the start of the next, for runs
that were killed.
"""

import hashlib
import json
import os
import shutil
from pathlib import Path

MEMORY = Path("/dev/shm")
_PREFIX = "assay-weights-"


def choose_weight_folder(run: Path, num_bytes: int, memory: Path = MEMORY) -> Path:
    """Make and return the weight folder of a run.

    Args:
        run: Run folder.
        num_bytes: Of all buffers, `WeightLayout.num_bytes`.
        memory: File system in memory; used where twice the need is free.

    Returns:
        The same folder for the same run, so that processes that come back find it.
    """
    run = run.resolve()
    inside, shared = run / "weights", memory / (_PREFIX + hashlib.sha256(str(run).encode()).hexdigest()[:16])
    if inside.exists() or not (shared.exists() or _free_bytes(memory) >= 2 * num_bytes):
        inside.mkdir(parents=True, exist_ok=True)
        return inside
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        inside.mkdir(parents=True, exist_ok=True)
        return inside
    owner = {"run": str(run), "pid": os.getpid(), "started": _started(os.getpid())}
    (shared / "owner.json").write_text(json.dumps(owner), encoding="utf-8")
    return shared


def remove_weight_folder(folder: Path) -> None:
    """Remove a weight folder; readers that still have it open are not harmed."""
    shutil.rmtree(folder, ignore_errors=True)


def reap_weight_folders(memory: Path = MEMORY) -> list[Path]:
    """Remove the weight folders in memory whose run's process is gone; return them."""
    reaped = []
    for folder in sorted(memory.glob(f"{_PREFIX}*")):
        try:
            owner = json.loads((folder / "owner.json").read_text(encoding="utf-8"))
            is_alive = _started(owner["pid"]) == owner["started"] is not None
        except (OSError, ValueError, KeyError, TypeError):
            continue  # being made, or somebody else's
        if not is_alive:
            remove_weight_folder(folder)
            reaped.append(folder)
    return reaped


def _free_bytes(folder: Path) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize


def _started(pid: int) -> str | None:
    # Start time in clock ticks since boot; tells a process from a later one with the same number.
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
