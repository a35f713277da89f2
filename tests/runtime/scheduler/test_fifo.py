from scheduler_queue import items, queue, slots, view

from assay.core.scheduler import Waiting
from assay.runtime.scheduler.fifo import Fifo


def test_longest_waiting_comes_first_and_workers_are_filled_in_turn() -> None:
    given = Fifo().pick(view(queue("a", "b", "a", "b")), slots(2, 1), 9.0)
    assert [(0, "w0"), (1, "w0"), (2, "w1")] == [(one.item, one.worker) for one in given]


def test_item_too_large_for_every_slot_is_passed_over() -> None:
    large = Waiting(7, "a", "auto", 0.0, 1.0, {"gpu": 3.0})
    assert [0, 1] == items(Fifo().pick(view([large, *queue("a", "b", needs={"gpu": 1.0})]), slots(3, gpu=2.0), 9.0))


def test_needs_of_one_worker_add_up() -> None:
    waiting = queue("a", "b", "a", needs={"gpu": 1.0})
    given = Fifo().pick(view(waiting), slots(2, 2, gpu=1.0), 9.0)
    assert [(0, "w0"), (1, "w1")] == [(one.item, one.worker) for one in given]
