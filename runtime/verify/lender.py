"""What the host lends its jobs, which their locked-down processes have not: boxes, and a judge to ask.

Calls of a job come in over its process's channel, go to a thread that owns the box or the judge, and the answer goes
back. A box is there before the time of its job begins, and that time stands still while a judge is asked. What one try
was lent is taken back with `release`.
"""

from collections.abc import Callable, Iterable

from assay.runtime.judge.host import JudgeHost
from assay.runtime.sandbox.host import BoxAnswer, BoxHost
from assay.runtime.verify.flight import Flight, Slot
from assay.runtime.verify.message import BoxCall, BoxReply, Declared, JudgeAnswer, JudgeCall
from assay.runtime.verify.pool import ProcessPool
from assay.runtime.verify.refusal import no_box, no_judge


class Lender:
    """Boxes and a judge for jobs in processes.

    Args:
        pool: Processes that call, and are answered.
        declared: What leaves declare, by reference; grows as processes start.
        boxes: Where boxes come from; None: a verifier that asks for one does not start.
        judges: Whom verifiers ask; None: a verifier that asks a judge does not start.
        clock: Seconds, never going back.
    """

    def __init__(
        self,
        pool: ProcessPool,
        declared: dict[str, Declared],
        boxes: BoxHost | None,
        judges: JudgeHost | None,
        clock: Callable[[], float],
    ) -> None:
        self._pool = pool
        self._declared = declared
        self._boxes = boxes
        self._judges = judges
        self._clock = clock
        self._num_opened = 0
        self._opening: dict[int, Flight] = {}
        for others in (boxes, judges):
            if others is not None:
                pool.hear(others.fileno())

    def check(self, declared: Iterable[Declared]) -> None:
        """Refuse leaves that ask for what is not there.

        Raises:
            ConfigError: one does.
        """
        for leaf in declared:
            if "box" in leaf.supplied and self._boxes is None:
                raise no_box(leaf.name)
            if "judge" in leaf.supplied and self._judges is None:
                raise no_judge(leaf.name)

    def asks_box(self, ref: str) -> bool:
        """Whether calls of a leaf get a box."""
        declared = self._declared.get(ref)
        return self._boxes is not None and declared is not None and "box" in declared.supplied

    def asks_judge(self, ref: str) -> bool:
        """Whether calls of a leaf get a judge."""
        declared = self._declared.get(ref)
        return declared is not None and "judge" in declared.supplied

    def is_asked(self, ref: str) -> bool:
        """Whether calls of a leaf get either."""
        return self.asks_judge(ref) or self.asks_box(ref)

    def is_ready(self, flight: Flight) -> bool:
        """Whether a job has what it needs before it begins."""
        return flight.has_box or flight.job.sandbox is None or not self.asks_box(flight.job.ref)

    def open_boxes(self, flights: Iterable[Flight]) -> None:
        """Ask for the boxes of jobs that wait, while there is room: a box is there before a job's time begins."""
        if self._boxes is None:
            return
        for flight in flights:
            if flight.box or flight.job.sandbox is None or not self.asks_box(flight.job.ref):
                continue
            if not self._boxes.has_room:
                return
            self._num_opened += 1
            flight.box = -self._num_opened
            self._opening[flight.box] = flight
            flight.asked_at = self._clock()
            self._boxes.open(flight.job.job_id, flight.job.sandbox, flight.box)

    def call(self, slot: Slot, asked: BoxCall | JudgeCall) -> None:
        """Take a call of a job to whom it asks."""
        flight = slot.flights.get(asked.job_id)
        if isinstance(asked, BoxCall):
            if flight is None or flight.job.sandbox is None or self._boxes is None:
                slot.process.send(BoxReply(asked.call_id, None, "this call has no box"))
                return
            self._boxes.ask(asked.job_id, flight.job.sandbox, asked.call_id, asked.box, asked.method, asked.given)
            return
        if flight is None or self._judges is None or not self.asks_judge(flight.job.ref):
            slot.process.send(JudgeAnswer(asked.call_id, None, "this call has no judge", "refused"))
            return
        flight.stop_clock(self._clock())
        ref = flight.job.ref
        self._judges.ask(flight.ask_id, asked.call_id, asked.request, ref, self._declared[ref].version)

    def answer(self) -> list[tuple[Flight, str]]:
        """Take answers back to the jobs that asked; returns jobs that cannot have a box, with the reason."""
        without: list[tuple[Flight, str]] = []
        for answer in self._boxes.answers() if self._boxes is not None else ():
            if answer.call_id < 0:
                without += self._on_opened(answer)
            else:
                self._on_box(answer)
        for ask_id, reply in self._judges.answers() if self._judges is not None else ():
            self._on_judge(ask_id, reply)
        return without

    def release(self, flight: Flight, *, is_ok: bool = False) -> None:
        """Take back what one try was lent.

        Args:
            flight: The job.
            is_ok: It ended well, so that what a judge said to it could be read.
        """
        if self._boxes is not None and flight.job.sandbox is not None:
            self._boxes.release(flight.job.job_id)
            self._opening.pop(flight.box, None)
            flight.box, flight.has_box = 0, False
        if self._judges is not None and flight.has_asked:
            # What a judge said before it went away is as good as ever; what nobody could read is not.
            is_kept = is_ok or flight.judge_failure == "outage"
            flight.spent.add(self._judges.end(flight.ask_id, should_keep=is_kept))

    def close(self) -> None:
        """Close boxes and judge."""
        for others in (self._boxes, self._judges):
            if others is not None:
                others.close()

    def _on_opened(self, answer: BoxAnswer) -> list[tuple[Flight, str]]:
        flight = self._opening.pop(answer.call_id, None)
        if flight is None:
            return []  # its job was taken back
        flight.has_box = True
        flight.spent.queue_s += self._clock() - flight.asked_at
        return [(flight, answer.error)] if answer.error else []

    def _on_box(self, answer: BoxAnswer) -> None:
        for slot in self._pool:
            flight = slot.flights.get(answer.key)
            if flight is not None:
                if answer.is_infra:
                    flight.box_failure = answer.error or "the backend lost a command"
                slot.process.send(BoxReply(answer.call_id, answer.value, answer.error))
                self._pool.watch(slot)

    def _on_judge(self, ask_id: int, answer: JudgeAnswer) -> None:
        for slot in self._pool:
            for flight in slot.flights.values():
                if flight.ask_id == ask_id:
                    flight.start_clock(self._clock())
                    flight.judge_failure = answer.failure or flight.judge_failure
                    slot.process.send(answer)
                    self._pool.watch(slot)
