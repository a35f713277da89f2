"""Room in free slots, filled worker by worker in turn; for schedulers, which differ in who is next."""

from collections import deque
from collections.abc import Sequence

from assay.core.scheduler import Slot, Waiting


class Packing:
    """What is free, less what was given.

    Args:
        capacity: Free slots of workers.
    """

    def __init__(self, capacity: Sequence[Slot]) -> None:
        self._free = deque((slot.worker, dict(slot.free)) for slot in capacity)

    @property
    def is_full(self) -> bool:
        """Whether no worker is known to have a slot."""
        return not self._free

    def place(self, waiting: Waiting) -> str | None:
        """Return the worker an item goes to, and take its room; None where it fits nowhere."""
        free = self._free
        for _ in range(len(free)):
            worker, room = free[0]
            if room.get("slots", 0.0) < 1.0:
                free.popleft()
                continue
            if all(room.get(name, 0.0) >= amount for name, amount in waiting.needs.items()):
                room["slots"] -= 1.0
                for name, amount in waiting.needs.items():
                    room[name] -= amount
                return worker
            free.rotate(-1)
        return None
