"""Marks as calibration rows: what a verifier must say about answers that people have judged.

A row is a task, an answer and what is expected: a bool where the signal is one, else a bound at the middle of its
range, since a mark says good or bad and not how good.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from assay.core.error import StoreError
from assay.core.signal import SignalSpec
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review.choice import find_signal
from assay.runtime.review.report import gather
from assay.runtime.review.store import Mark


def calibration_rows(
    run: StoredRun, marks: Sequence[Mark], matter: str, entries: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the rows of all episodes whose marks are not in balance, in order.

    Args:
        run: Opened for reading.
        marks: Kept ones; those about another signal than `matter` are left out.
        matter: `verifier.signal` that marks about success, or about a domain's own question, stand for.
        entries: Of the mix; empty for all that have the signal.
    """
    programs = {one.name: one.program for one in run.plan.entries if not entries or one.name in entries}
    seen: set[tuple[str, str]] = set()
    for one in gather(marks):
        row = run.find(one.episode)
        if (
            row is None
            or one.is_good is None
            or row.entry not in programs
            or ("." in one.about and one.about != matter)
        ):
            continue
        spec = find_signal(programs[row.entry], matter)
        if spec is None:
            continue
        try:
            task, played = run.task(row), run.played(row)
        except (StoreError, msgspec.MsgspecError):
            continue
        # Siblings that said the same, and second marks of an episode about something else, add nothing.
        key = (task.hash, played.final_text)
        if key not in seen:
            seen.add(key)
            yield {"task": task.fields, "answer": played.final_text, "expect": {matter: expected(spec, one.is_good)}}


def expected(spec: SignalSpec, is_good: bool) -> bool | str:
    """Return what a signal must be of an answer that people call good or bad."""
    is_up = spec.better != "down"
    if spec.kind.name == "bool":
        return is_good == is_up
    assert spec.kind.lo is not None and spec.kind.hi is not None
    middle = (spec.kind.lo + spec.kind.hi) / 2
    return f">= {middle:g}" if is_good == is_up else f"< {middle:g}"


def to_line(row: dict[str, Any]) -> str:
    """Return a row as one line of JSON."""
    return json.dumps(row, ensure_ascii=False) + "\n"
