"""Jobs on their way, the processes they are in, and what comes of them."""

import math
from typing import NamedTuple

import msgspec

from assay.core.verdict import Cause, Measurement
from assay.runtime.judge.host import Spent
from assay.runtime.verify.message import Job, Mode
from assay.runtime.verify.process import WorkerProcess


class VerifierRef(msgspec.Struct, frozen=True, array_like=True):
    """A leaf to be hosted.

    Attributes:
        ref: `dist:version:module:attribute`.
        mode: How its calls are run.
        net: Whether it keeps the network.
    """

    ref: str
    mode: Mode = "worker"
    net: bool = False


class Outcome(msgspec.Struct, frozen=True):
    """What came of one job.

    Attributes:
        job_id: Which.
        measurement: Where it was measured, or timed out and a timeout earns signals.
        cause: Where it was not.
        detail: One line for people, naming leaf and distribution; also where a timeout earned signals.
        is_fatal: The leaf declares that such a failure ends the run.
        is_timeout: It ran into its deadline.
        num_tries: How often it was run.
        cost_usd: What judges charged, all tries together.
        queue_s: Seconds it waited for a judge or a box.
    """

    job_id: int
    measurement: Measurement | None = None
    cause: Cause | None = None
    detail: str = ""
    is_fatal: bool = False
    is_timeout: bool = False
    num_tries: int = 1
    cost_usd: float = 0.0
    queue_s: float = 0.0


class Key(NamedTuple):
    """Leaves of one key share processes."""

    dist: str
    mode: Mode
    net: bool

    @classmethod
    def of(cls, leaf: VerifierRef) -> "Key":
        """Return the key of a leaf."""
        return cls(":".join(leaf.ref.split(":")[:2]), leaf.mode, leaf.net)


class Flight:
    """A job on its way.

    Attributes:
        num_tries: How often it was sent, but for tries that something outside ended.
        num_lost: How often something outside ended a try.
        is_alone: It must not share a process: what it shared one with crashed.
        box_failure: What the sandbox backend said when it failed under this try.
        box: Number of the question that got or will get this try's box; 0 before it is asked.
        has_box: Whether the box is there.
        asked_at: When the box was asked for, on the host's clock.
        sent_at: On the host's clock.
        deadline: When the host ends it; stands still while a judge is asked.
        num_asked: Questions to a judge that have no answer yet.
        has_asked: Whether this try asked a judge at all.
        ask_id: Of this try, for the judge: an answer to a former one is nobody's.
        judge_failure: The judge gave no reply under this try: `error`, `outage` or `refused`.
        spent: What judges and boxes took, all tries together.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.num_tries = 0
        self.num_lost = 0
        self.is_alone = False
        self.box_failure = ""
        self.box = 0
        self.has_box = False
        self.asked_at = 0.0
        self.sent_at = 0.0
        self.deadline = 0.0
        self.num_asked = 0
        self.has_asked = False
        self.ask_id = 0
        self.judge_failure = ""
        self.spent = Spent()
        self._left_s = 0.0

    def depart(self, ask_id: int, now_s: float, timeout_s: float) -> None:
        """A try begins."""
        self.num_tries += 1
        self.ask_id = ask_id
        self.num_asked, self.has_asked, self.judge_failure = 0, False, ""
        self.sent_at, self.deadline = now_s, now_s + timeout_s

    def stop_clock(self, now_s: float) -> None:
        """A question goes out: how long a judge takes says nothing about the verifier."""
        if self.num_asked == 0:
            self._left_s = self.deadline - now_s
            self.deadline = math.inf
        self.num_asked += 1
        self.has_asked = True

    def start_clock(self, now_s: float) -> None:
        """An answer came."""
        self.num_asked -= 1
        if self.num_asked == 0:
            self.deadline = now_s + self._left_s


class Slot:
    """A process and what is in flight in it.

    Attributes:
        num_refs: Leaves it was told to load.
        is_leaving: It takes no more jobs and is replaced when nothing is in flight.
    """

    def __init__(self, process: WorkerProcess, key: Key, started_at: float, num_refs: int) -> None:
        self.process = process
        self.key = key
        self.started_at = started_at
        self.num_refs = num_refs
        self.flights: dict[int, Flight] = {}
        self.is_leaving = False
