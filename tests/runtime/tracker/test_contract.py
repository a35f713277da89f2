"""The tracker `jsonl` keeps the contract of trackers."""

import json
from pathlib import Path

from assay.runtime.testing.tracker import Key, TrackerContract
from assay.runtime.tracker import TRACKERS

(JSONL,) = TRACKERS


def told(folder: Path) -> list[Key]:
    """Return the keys of what stands in the file."""
    records = [json.loads(line) for line in (folder / "lines" / "run.jsonl").read_text().splitlines()]
    steps = {index: (one["lineage"], one["step"]) for index, one in enumerate(records) if one["kind"] == "step"}
    events = {index: one["number"] for index, one in enumerate(records) if one["kind"] == "event"}
    return [key for _, key in sorted((steps | events).items())]


TestJsonl = TrackerContract.of(JSONL, told=told, options={"path": "lines/run.jsonl"})
