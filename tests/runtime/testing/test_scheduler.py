"""Every clause of the contract of schedulers turns red for a scheduler that breaks it."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from red import breaks

from assay.core.scheduler import Assignment, Slot, View
from assay.runtime.scheduler.fifo import Fifo
from assay.runtime.testing.scheduler import SchedulerContract


class Wrong(Fifo):
    """Fifo with something wrong about it."""

    def pick(self, view: View, capacity: Sequence[Slot], now_s: float) -> list[Assignment]:
        return self.change(super().pick(view, capacity, now_s), view, capacity)

    def change(self, given: list[Assignment], view: Any, capacity: Any) -> Any:
        raise NotImplementedError


class Twice(Wrong):
    def change(self, given: list[Assignment], view: Any, capacity: Any) -> Any:
        return given + given[:1]


class Elsewhere(Wrong):
    def change(self, given: list[Assignment], view: Any, capacity: Any) -> Any:
        return [Assignment(one.item + 10_000, one.worker) for one in given]


class Lazy(Wrong):
    def change(self, given: list[Assignment], view: Any, capacity: Any) -> Any:
        return given[:1]


class Tuples(Wrong):
    def change(self, given: list[Assignment], view: Any, capacity: Any) -> Any:
        return [(one.item, one.worker) for one in given]


class Greedy(Wrong):
    def change(self, given: list[Assignment], view: Any, capacity: Any) -> Any:
        return [Assignment(one.item, capacity[0].worker) for one in view.waiting] if capacity else []


class Blind(Wrong):
    """Sees slots and no other resource."""

    def change(self, given: list[Assignment], view: Any, capacity: Any) -> Any:
        rooms = [slot.worker for slot in capacity for _ in range(int(slot.free["slots"]))]
        return [Assignment(one.item, worker) for one, worker in zip(view.waiting, rooms, strict=False)]


class Moody(Wrong):
    """Remembers that it was asked."""

    asked = 0

    def change(self, given: list[Assignment], view: Any, capacity: Any) -> Any:
        self.asked += 1
        return given if self.asked % 2 else given[:-1]


class Grabbing(Wrong):
    def change(self, given: list[Assignment], view: Any, capacity: Any) -> Any:
        view.waiting.clear()
        return given


class ShortestFirst(Fifo):
    """Never plays what is long."""

    def pick(self, view: View, capacity: Sequence[Slot], now_s: float) -> list[Assignment]:
        waiting = sorted(view.waiting, key=lambda one: one.cost_s)
        return super().pick(View(view.queue, waiting, view.running, view.share, view.done), capacity, now_s)


class Slow(Wrong):
    def change(self, given: list[Assignment], view: Any, capacity: Any) -> Any:
        until_s = time.perf_counter() + 0.003
        while time.perf_counter() < until_s:
            pass
        return given


@pytest.mark.parametrize(
    ("clause", "target", "must"),
    [
        ("test_what_it_gives_is_waiting_and_given_once", Twice, "must give an item once"),
        ("test_what_it_gives_is_waiting_and_given_once", Elsewhere, "must give waiting items"),
        ("test_what_it_gives_is_waiting_and_given_once", Tuples, "must return a list of assignments"),
        ("test_no_worker_gets_more_than_it_has_room_for", Greedy, "no more than it has room for"),
        ("test_no_worker_gets_more_than_it_has_room_for", Blind, "no more than it has room for"),
        ("test_the_same_view_gives_the_same_picks", Moody, "the same picks for the same view"),
        ("test_what_it_is_shown_stays_as_it_is", Grabbing, "must leave what it is shown"),
        ("test_no_slot_stays_free_while_something_fits", Lazy, "must leave no slot free"),
        ("test_nobody_waits_for_ever", ShortestFirst, "no item must wait longer than 3600 s"),
    ],
)
def test_a_wrong_scheduler_turns_its_clause_red(clause: str, target: Any, must: str) -> None:
    assert must in breaks(SchedulerContract, clause, target)


def test_a_slow_scheduler_turns_its_clause_red() -> None:
    assert "at most 0.002 s" in breaks(SchedulerContract, "test_a_pick_is_quick", Slow, pick_s=0.002)
