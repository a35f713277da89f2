"""Fair: the next slot goes to the domain that is most behind its share.

    lag_d = share_d * sum over domains of units - units_d,   units_d = done_d + mean_d * running_d

in the unit of `balance`: what a domain got, and what its running items will bring. Inside a domain the longest waiting
item comes first. What waits longer than `max_wait_s` comes before everything, so that a domain without a share, such
as one that is only evaluated, waits for a bounded time.
"""

from collections import deque
from collections.abc import Sequence

from assay.core.error import ConfigError
from assay.core.scheduler import Assignment, Slot, View, Waiting
from assay.runtime.scheduler.packing import Packing


class Fair:
    """See the module.

    Args:
        max_wait_s: Longest an item gives way to others, in seconds, above 0.

    Raises:
        ConfigError: nothing could ever give way.
    """

    should_see_every_domain = True

    def __init__(self, max_wait_s: float = 600.0) -> None:
        if not max_wait_s > 0.0:
            raise ConfigError("max_wait_s must be above 0", got=max_wait_s)
        self.max_wait_s = max_wait_s

    def pick(self, view: View, capacity: Sequence[Slot], now_s: float) -> list[Assignment]:
        """See `assay.core.scheduler.Scheduler`; an item too large for every slot is passed over."""
        assignments: list[Assignment] = []
        packing = Packing(capacity)
        queues: dict[str, deque[Waiting]] = {}
        for waiting in view.waiting:
            queues.setdefault(waiting.domain, deque()).append(waiting)
        names = dict.fromkeys([*view.share, *queues])
        mean = {name: view.mean.get(name, 1.0) for name in names}
        units = {name: view.done.get(name, 0.0) + mean[name] * view.running.get(name, 0) for name in names}
        total = sum(units.values())
        while queues and not packing.is_full:
            late = [name for name, queue in queues.items() if now_s - queue[0].since_s > self.max_wait_s]
            if late:
                name = min(late, key=lambda name: queues[name][0].since_s)
            else:
                behind = {name: view.share.get(name, 0.0) * (total + mean[name]) - units[name] for name in queues}
                name = max(queues, key=behind.__getitem__)
            waiting = queues[name].popleft()
            if not queues[name]:
                del queues[name]
            worker = packing.place(waiting)
            if worker is not None:
                assignments.append(Assignment(waiting.item, worker))
                units[name] += mean[name]
                total += mean[name]
        return assignments
