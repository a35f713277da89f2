"""The ledger as a stream of steps and events, read a page at a time from a position on."""

import heapq
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from assay.core.tracker import Event, Position, Step
from assay.runtime.observe.reading import Reading

# Steps, and events, that are held at a time: the ledger is the queue.
PAGE = 256
ALARMS = frozenset({"audit", "failed", "fault", "rows_lost", "starved", "worker_lost", "worker_refused"})
"""Events that somebody should look at."""


def read_page(ledger: Path, after: Position, size: int = PAGE) -> list[Step | Event]:
    """Return what comes after a position, by the run's clock.

    Args:
        ledger: Its file.
        after: How far was read.
        size: Most steps, and most events.

    Raises:
        StoreError: there is no ledger.
    """
    with Reading(ledger) as reading:
        steps: list[Step | Event] = [
            Step(row.version, row.at_s, {"wait_s": row.wait_s, "busy_s": row.busy_s, **row.metrics})
            for row in reading.commits(after.version, size)
        ]
        events: list[Step | Event] = list(islice(_events(reading, after.event), size))
    return list(heapq.merge(steps, events, key=lambda record: record.at_s))


def advance(position: Position, record: Step | Event) -> Position:
    """Return the position behind a record."""
    if isinstance(record, Step):
        return Position(record.version.pack(), position.event)
    return Position(position.version, record.number)


def _events(reading: Reading, after: int) -> Iterator[Event]:
    accuracies = None
    for number, at_s, what, detail in reading.log(after):
        figures: dict[str, float] = {}
        if what == "evaluated":
            accuracies = accuracies or reading.accuracies()
            found = accuracies.get(detail.partition(" at ")[0], {})
            figures = {entry: one.share for entry, one in found.items() if one.share is not None}
        yield Event(number, at_s, what, detail, what in ALARMS, figures)
