"""The simulator: the real core, the real policies, no processes and a virtual clock.

Workers behave; what varies is how long things take, drawn per entry from lognormal distributions with a seed of their
own. A scheduler can look good by shifting the mix, so idle share, mix, lag, duration bias and waste are reported
together.

Not simulated: sockets, the ledger's disk, tokens. A message takes no time.
"""

import heapq
import math
import random
from collections.abc import Mapping
from itertools import count

import msgspec

from assay.core.array import Array
from assay.core.blob import BlobRef
from assay.core.error import ConfigError
from assay.core.trajectory import Trace, WeightVersion
from assay.core.verdict import Payout, Scored
from assay.core.wire import (
    PROTOCOL,
    BatchReady,
    Checkpoint,
    CheckpointSaved,
    Commit,
    EpisodeDone,
    Hello,
    LeaseEpisode,
    LeaseTasks,
    LeaseVerify,
    Order,
    PublishWeights,
    ReadyTask,
    Report,
    Resume,
    Resumed,
    Role,
    Stop,
    Take,
    TasksReady,
    UseWeights,
    VerdictDone,
    Weights,
    WeightsPublished,
)
from assay.runtime.coordinator.core import Core
from assay.runtime.coordinator.instruction import Drained, Event, Finish, Received, Send
from assay.runtime.coordinator.spec import RunSpec
from assay.runtime.coordinator.status import Status, status

_SLOTS: dict[Role, int] = {"source": 4, "rollout": 32, "verify": 8}


class Spread(msgspec.Struct, frozen=True):
    """A lognormal duration: its median in seconds, and the standard deviation of its logarithm."""

    median_s: float
    sigma: float = 0.0

    def draw(self, rng: random.Random) -> float:
        """Return one duration in seconds."""
        return self.median_s * math.exp(self.sigma * rng.gauss(0.0, 1.0))


class Model(msgspec.Struct, frozen=True):
    """How long things take and how often episodes succeed.

    Attributes:
        rollout: Seconds of one rollout, per entry.
        verify: Seconds of one verification, per entry.
        step: Seconds of one optimizer step.
        pass_rate: Probability that an episode is solved, per entry; absent ones 0.5.
        slots: Items at once, per role.
    """

    rollout: Mapping[str, Spread]
    verify: Mapping[str, Spread]
    step: Spread
    pass_rate: Mapping[str, float] = {}
    slots: Mapping[Role, int] = msgspec.field(default_factory=_SLOTS.copy)


class Outcome(msgspec.Struct, frozen=True):
    """What a simulated run came to.

    Attributes:
        finish: Exit code and reason.
        wall_s: Virtual seconds.
        trainer_idle: Time blocked in Take over time from first batch to last commit.
        trained: Part of the trained groups per entry, summing to 1.
        status: Everything the core would show: lag, waste, duration bias, drops.
    """

    finish: Finish
    wall_s: float
    trainer_idle: float
    trained: dict[str, float]
    status: Status


class Simulator:
    """One simulated run.

    Args:
        spec: What the run is; its leases are of no matter, workers answer in time.
        model: Durations.
        seed: Of the durations.
    """

    def __init__(self, spec: RunSpec, model: Model, seed: int = 0) -> None:
        # Nobody sends heartbeats here, and only a bug could let a lease expire.
        self._core = Core(msgspec.structs.replace(spec, heartbeat_s=1e9, watchdog_s=1e9))
        self._spec, self._model = spec, model
        self._rng = random.Random(f"simulate:{seed}")
        self._order = count()
        self._due: list[tuple[float, int, bytes, Report]] = []
        self._now_s = 0.0
        self._taking_s = 0.0
        self._visible = self._trainer = WeightVersion(0, 0)
        self._groups: dict[str, int] = {}

    def run(self, max_s: float = math.inf) -> Outcome:
        """Run to the end.

        Raises:
            ConfigError: nothing is left to happen, or `max_s` virtual seconds are over, and the run is not.
        """
        roles: tuple[Role, ...] = ("source", "rollout", "verify", "update")
        for role in roles:
            capacity = {"slots": float(self._model.slots.get(role, 1))}
            hello = Hello(role, role, 1, (PROTOCOL, PROTOCOL), self._spec.plan_digest, capacity)
            self._after(0.0, role.encode(), hello)
        self._after(0.0, b"update", Resume(0))
        finish = self._turn([])
        while finish is None:
            if not self._due or self._now_s > max_s:
                raise ConfigError("a simulated run must come to an end", got=f"{self._now_s:.0f} s, {self._stand()}")
            self._now_s = self._due[0][0]
            events: list[Event] = []
            while self._due and self._due[0][0] <= self._now_s:
                _, _, peer, report = heapq.heappop(self._due)
                events.append(Received(peer, 0, report))
            finish = self._turn(events)
        shown = status(self._core.run, finish.reason)
        total = sum(self._groups.values()) or 1
        return Outcome(
            finish, self._now_s, shown.trainer_idle, {name: n / total for name, n in self._groups.items()}, shown
        )

    def _turn(self, events: list[Event]) -> Finish | None:
        for event in (*events, Drained()):
            for instruction in self._core.handle(event, self._now_s):
                if isinstance(instruction, Send):
                    self._obey(instruction.peer, instruction.order)
                elif isinstance(instruction, Finish):
                    return instruction
        # Workers that were told to stop do not say goodbye here: the run is over when the core says so.
        return Finish(0, self._core.stop_reason) if self._core.stop_reason else None

    def _after(self, seconds: float, peer: bytes, report: Report) -> None:
        heapq.heappush(self._due, (self._now_s + seconds, next(self._order), peer, report))

    def _obey(self, peer: bytes, order: Order) -> None:
        model, rng = self._model, self._rng
        if isinstance(order, LeaseTasks):
            tasks = tuple(ReadyTask(index, BlobRef("", 0), "") for index in order.indices)
            self._after(0.0, peer, TasksReady(order.lease, order.entry, order.split, tasks))
        elif isinstance(order, UseWeights):
            self._visible = order.weights.version
        elif isinstance(order, LeaseEpisode):
            seconds = model.rollout[order.entry].draw(rng)
            trace = Trace(1, max(1, round(seconds * 100)), 1, wall_s=seconds)
            done = EpisodeDone(order.lease, order.episode, BlobRef("", 0), self._visible, trace, trace.tokens)
            self._after(seconds, peer, done)
        elif isinstance(order, LeaseVerify):
            reward = float(rng.random() < model.pass_rate.get(order.entry, 0.5))
            verdict = Scored({}, Payout(reward, reward > 0, None, {"outcome.solved": reward}), "", "")
            seconds = model.verify[order.entry].draw(rng)
            self._after(seconds, peer, VerdictDone(order.lease, order.episode, verdict, seconds))
        elif isinstance(order, Resumed):
            self._publish_and_take(0.0, peer)
        elif isinstance(order, PublishWeights):
            self._after(0.0, peer, CheckpointSaved(Checkpoint(self._trainer, "", "")))
            self._after(0.0, peer, WeightsPublished(Weights(self._trainer, "")))
        elif isinstance(order, BatchReady):
            self._train(peer, order)
        elif not isinstance(order, Stop):
            return

    def _train(self, peer: bytes, order: BatchReady) -> None:
        for group in order.batch.groups:
            self._groups[group.domain] = self._groups.get(group.domain, 0) + 1
        seconds = self._model.step.draw(self._rng)
        self._trainer = WeightVersion(order.lineage, order.batch.step)
        none = Array("int64", (0,), b"")
        waited_s = self._now_s - self._taking_s
        saved = Checkpoint(self._trainer, "", "") if order.should_checkpoint else None
        self._after(seconds, peer, Commit(self._trainer, {}, none, none, saved, waited_s, seconds))
        self._publish_and_take(seconds, peer, should_publish=order.should_publish)

    def _publish_and_take(self, seconds: float, peer: bytes, *, should_publish: bool = True) -> None:
        if should_publish:
            self._after(seconds, peer, WeightsPublished(Weights(self._trainer, "")))
        self._after(seconds, peer, Take(self._trainer.lineage, self._trainer.step + 1))
        self._taking_s = self._now_s + seconds

    def _stand(self) -> str:
        at = self._core.run.curriculum
        return f"phase {at.phase}, step {at.trainer_step}, {self._core.run.counts.in_flight} episodes in flight"
