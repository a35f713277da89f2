"""`metrics.jsonl`: one line per committed step, written as the ledger gets them."""

import json
from pathlib import Path

from assay.runtime.observe.reading import Reading


class MetricsFile:
    """Appends what is new; a run that is resumed goes on behind its last line.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = _last_version(path)

    def update(self, reading: Reading) -> int:
        """Write the steps committed since the last call; returns how many."""
        rows = reading.commits(after=self._last)
        if not rows:
            return 0
        with self._path.open("a", encoding="utf-8") as file:
            for row in rows:
                line = {
                    "step": row.version.step,
                    "lineage": row.version.lineage,
                    "version": row.version.pack(),
                    "at_s": round(row.at_s, 4),
                    "wait_s": round(row.wait_s, 6),
                    "busy_s": round(row.busy_s, 6),
                    **row.metrics,
                }
                file.write(json.dumps(line) + "\n")
        self._last = rows[-1].version.pack()
        return len(rows)


def _last_version(path: Path) -> int:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return -1
    return int(json.loads(lines[-1])["version"]) if lines else -1
