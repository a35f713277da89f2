"""First come, first served: gives the longest waiting item to the first worker with room, filling workers in turn."""

from collections.abc import Sequence

from assay.core.scheduler import Assignment, Slot, View
from assay.runtime.scheduler.packing import Packing


class Fifo:
    """See the module."""

    def pick(self, view: View, capacity: Sequence[Slot], now_s: float) -> list[Assignment]:
        """Return assignments in order of entry; an item too large for every slot is passed over."""
        assignments = []
        packing = Packing(capacity)
        for waiting in view.waiting:
            worker = packing.place(waiting)
            if worker is not None:
                assignments.append(Assignment(waiting.item, worker))
            elif packing.is_full:
                break
        return assignments
