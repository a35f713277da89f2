"""The loop of every stage but update: orders in, work, reports out."""

import signal
import threading
from typing import Protocol

from assay.core.wire import Order, Stop
from assay.runtime.wire.client import Client

# An idle worker wakes this often; orders wake it at once.
_IDLE_S = 5.0


class Stage(Protocol):
    """What one stage does with its orders."""

    @property
    def is_busy(self) -> bool:
        """Whether `work` has something to do now."""
        ...

    def take(self, order: Order) -> None:
        """Accept an order; the work itself waits for `work`."""
        ...

    def work(self) -> None:
        """Do a little, and send what is ready."""
        ...

    def close(self) -> None:
        """Release everything; what is unfinished goes back with the goodbye."""
        ...


def serve(client: Client, stage: Stage) -> None:
    """Work until the coordinator says stop, or the launcher says so by SIGTERM."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    reason = "ended"
    try:
        while not ended.is_set():
            for order in client.poll(0.0 if stage.is_busy else _IDLE_S):
                if isinstance(order, Stop):
                    reason = order.reason
                    ended.set()
                    break
                stage.take(order)
            stage.work()
    finally:
        stage.close()
        client.close(reason)
