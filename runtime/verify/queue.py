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
        num_concurrent: Most calls at a time in an asynchronous process: so many that ask a judge, and as many others,
            so that none of the others waits for a judge that is away.
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
        if slot.process.hello is None or slot.process.is_ended or slot.is_leaving:
            return None
        flights, full = self._flights[slot.key], set[bool]()
        for flight in filter(self._lender.is_ready, flights):
            is_asking = self._lender.asks_judge(flight.job.ref)
            if is_asking in full:
                continue
            if self._has_room(slot, flight, is_asking):
                flights.remove(flight)
                return flight
            full.add(is_asking)
            if flight.is_alone or len(full) == 2:
                return None  # one that must be alone gets its turn before those behind it
        return None

    def _has_room(self, slot: Slot, flight: Flight, is_asking: bool) -> bool:
        others = slot.flights.values()
        if slot.key.mode != "async" or flight.is_alone or any(other.is_alone for other in others):
            return not others
        alike = sum(self._lender.asks_judge(other.job.ref) == is_asking for other in others)
        return alike < self.num_concurrent
