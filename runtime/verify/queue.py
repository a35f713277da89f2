"""Jobs that no process has yet, in the order they came, and which of them a process may take next."""

from collections import deque
from collections.abc import Iterator, Sequence

from assay.core.error import PluginError
from assay.runtime.verify.flight import Flight, Key, Slot, VerifierRef
from assay.runtime.verify.lender import Lender


class JobQueue:
    """Jobs that wait, by distribution and mode.

    Args:
        lender: Knows which of them have what they need before they begin.
        num_concurrent: Most calls at a time in an asynchronous process.
    """

    def __init__(self, lender: Lender, num_concurrent: int) -> None:
        self.num_concurrent = num_concurrent
        self._lender = lender
        self._key_of: dict[str, Key] = {}
        self._flights: dict[Key, deque[Flight]] = {}

    def __len__(self) -> int:
        """Return how many wait."""
        return sum(map(len, self._flights.values()))

    def __iter__(self) -> Iterator[Key]:
        """Iterate over the keys of leaves that are known."""
        return iter(self._flights)

    def of(self, key: Key) -> deque[Flight]:
        """Return those that wait for a process of a key."""
        return self._flights[key]

    def know(self, refs: Sequence[VerifierRef]) -> None:
        """Take jobs of these leaves from now on."""
        for leaf in refs:
            key = self._key_of[leaf.ref] = Key.of(leaf)
            self._flights.setdefault(key, deque())

    def put(self, flight: Flight) -> Key:
        """Let a job wait behind all others; returns its key.

        Raises:
            PluginError: nobody knows its leaf.
        """
        key = self._key_of.get(flight.job.ref)
        if key is None:
            raise PluginError("a job must name a leaf that was started", got=flight.job.ref)
        self._flights[key].append(flight)
        return key

    def put_back(self, flight: Flight) -> None:
        """Let a job that was sent already wait in front of all others."""
        self._flights[self._key_of[flight.job.ref]].appendleft(flight)

    def take(self, job_id: int) -> Flight | None:
        """Take a job out; None where it does not wait."""
        for flights in self._flights.values():
            for flight in flights:
                if flight.job.job_id == job_id:
                    flights.remove(flight)
                    return flight
        return None

    def take_for(self, slot: Slot) -> Flight | None:
        """Take out the next job that a process may run now; None where it must wait."""
        flights = self._flights[slot.key]
        flight = next(filter(self._lender.is_ready, flights), None)
        if flight is None or not self._has_room(slot, flight):
            return None
        flights.remove(flight)
        return flight

    def _has_room(self, slot: Slot, flight: Flight) -> bool:
        if slot.process.hello is None or slot.process.is_ended or slot.is_leaving:
            return False
        is_shared = slot.key.mode == "async" and not flight.is_alone
        if any(other.is_alone for other in slot.flights.values()):
            return False
        return len(slot.flights) < (self.num_concurrent if is_shared else 1)
