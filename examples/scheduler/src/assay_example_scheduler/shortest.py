"""Shortest expected work first, with ageing."""

from collections.abc import Sequence

from assay.core.error import ConfigError
from assay.core.scheduler import Assignment, Slot, View, Waiting


class Shortest:
    """Fills free slots in the order of expected seconds, less `ageing` for each second waited.

    An item of c expected seconds waits at most about c / ageing longer than what came after it.

    Args:
        ageing: Above 0.

    Raises:
        ConfigError: nothing would ever age.
    """

    should_see_every_domain = True

    def __init__(self, ageing: float = 0.1) -> None:
        if not ageing > 0.0:
            raise ConfigError("ageing must be above 0", got=ageing)
        self.ageing = ageing

    def pick(self, view: View, capacity: Sequence[Slot], now_s: float) -> list[Assignment]:
        """Return assignments; an item too large for every slot is passed over."""

        def priority(item: Waiting) -> float:
            return view.cost_s.get(item.domain, item.cost_s) - self.ageing * (now_s - item.since_s)

        rooms = [(slot.worker, dict(slot.free)) for slot in capacity]
        given = []
        for item in sorted(view.waiting, key=priority):
            rooms = [(worker, free) for worker, free in rooms if free.get("slots", 0.0) >= 1.0]
            if not rooms:
                break
            # The worker with most free slots, so that work spreads.
            for worker, free in sorted(rooms, key=lambda room: -room[1]["slots"]):
                if all(free.get(name, 0.0) >= amount for name, amount in item.needs.items()):
                    free["slots"] -= 1.0
                    for name, amount in item.needs.items():
                        free[name] -= amount
                    given.append(Assignment(item.item, worker))
                    break
        return given
