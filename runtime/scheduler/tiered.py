"""Tiered: cheap work comes first, and heavy work never holds more than some slots.

An item is heavy where its expected seconds are above `heavy_s`. Others go first, in order of entry; heavy ones follow
while fewer than `max_heavy` run. What waits longer than `max_wait_s` comes before everything; the cap holds for it too.
"""

from collections.abc import Sequence

from assay.core.error import ConfigError
from assay.core.scheduler import Assignment, Slot, View, Waiting
from assay.runtime.scheduler.packing import Packing


class Tiered:
    """See the module.

    Args:
        heavy_s: Expected seconds above which an item is heavy, at least 0.
        max_heavy: Heavy items at once over all workers of a queue, at least 1.
        max_wait_s: Longest an item gives way to others, in seconds, above 0.

    Raises:
        ConfigError: a value outside its range.
    """

    should_see_every_domain = True

    def __init__(self, heavy_s: float = 10.0, max_heavy: int = 4, max_wait_s: float = 600.0) -> None:
        if not (heavy_s >= 0.0 and max_heavy >= 1 and max_wait_s > 0.0):
            raise ConfigError(
                "tiered must have heavy_s >= 0, max_heavy >= 1 and max_wait_s > 0",
                got=f"{heavy_s}, {max_heavy}, {max_wait_s}",
            )
        self.heavy_s = heavy_s
        self.max_heavy = max_heavy
        self.max_wait_s = max_wait_s

    def pick(self, view: View, capacity: Sequence[Slot], now_s: float) -> list[Assignment]:
        """See `assay.core.scheduler.Scheduler`; an item too large for every slot is passed over."""
        assignments: list[Assignment] = []
        packing = Packing(capacity)
        room = self.max_heavy - sum(
            number for name, number in view.running.items() if view.cost_s.get(name, 0.0) > self.heavy_s
        )

        def order(waiting: Waiting) -> tuple[bool, bool]:
            return now_s - waiting.since_s <= self.max_wait_s, self._is_heavy(view, waiting)

        for waiting in sorted(view.waiting, key=order):
            is_heavy = self._is_heavy(view, waiting)
            if is_heavy and room < 1:
                continue
            worker = packing.place(waiting)
            if worker is not None:
                assignments.append(Assignment(waiting.item, worker))
                room -= is_heavy
            elif packing.is_full:
                break
        return assignments

    def _is_heavy(self, view: View, waiting: Waiting) -> bool:
        return view.cost_s.get(waiting.domain, waiting.cost_s) > self.heavy_s
