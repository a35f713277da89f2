"""The ledger as a stream: every step and event once, page by page, in order."""

from assay.core.tracker import Event, Position, Step
from assay.runtime.run.folder import RunFolder
from assay.runtime.tracker.stream import advance, read_page


def short(records: list[Step | Event]) -> list[str]:
    return [str(one.version) if isinstance(one, Step) else one.what for one in records]


def test_steps_and_events_come_in_the_order_of_the_runs_clock(folder: RunFolder) -> None:
    page = read_page(folder.ledger, Position())
    assert ["worker_joined", "0.1", "0.2", "starved", "0.3", "evaluated"] == short(page)
    assert [False, True, False] == [one.is_alarm for one in page if isinstance(one, Event)]


def test_pages_are_no_longer_than_asked_and_leave_nothing_out(folder: RunFolder) -> None:
    position, told = Position(), []
    while page := read_page(folder.ledger, position, size=1):
        assert len(page) <= 2
        for record in page:
            position = advance(position, record)
            told.append(record)
    whole = read_page(folder.ledger, Position())
    for kind in (Step, Event):
        assert [one for one in whole if isinstance(one, kind)] == [one for one in told if isinstance(one, kind)]


def test_evaluation_brings_its_accuracies(folder: RunFolder) -> None:
    (event,) = [one for one in read_page(folder.ledger, Position()) if isinstance(one, Event) and one.figures]
    assert ("evaluated", {"spell": 0.25}) == (event.what, event.figures)


def test_metrics_hold_the_times_of_the_step(folder: RunFolder) -> None:
    step = next(one for one in read_page(folder.ledger, Position()) if isinstance(one, Step))
    assert {"wait_s": 0.1, "busy_s": 0.2, "loss": 1.0} == step.metrics
