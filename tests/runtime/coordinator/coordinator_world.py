"""A fake world around the core: workers that behave, on a virtual clock, with faults where a test asks for them.

The ledger is a real SQLite file (in memory); `restart` throws the core away and rebuilds it from that.
"""

import random
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.core.array import Array
from assay.core.blob import BlobRef
from assay.core.trajectory import Trace, WeightVersion
from assay.core.verdict import Payout, Scored, Unscored, Verdict
from assay.core.wire import (
    Ack,
    BatchReady,
    Cancel,
    Checkpoint,
    CheckpointSaved,
    Commit,
    EpisodeDone,
    Goodbye,
    Heartbeat,
    Held,
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
    Stop,
    Take,
    TasksReady,
    UseWeights,
    VerdictDone,
    Weights,
    WeightsPublished,
    Welcome,
    WhoAreYou,
)
from assay.runtime.coordinator.core import Core
from assay.runtime.coordinator.instruction import Drained, DrainRequested, Finish, Received, Send, Write
from assay.runtime.coordinator.ledger import Ledger
from assay.runtime.coordinator.recover import recover
from assay.runtime.coordinator.spec import EntrySpec, EvaluationSpec, RunSpec, StageSpec

PLAN = "plan"


def blob(name: str) -> BlobRef:
    return BlobRef(name.ljust(64, "0")[:64], 1, "w~0.seg", 0)


def entry(name: str = "a", **changes: Any) -> EntrySpec:
    values: dict[str, Any] = {
        "share": 1.0,
        "group_size": 4,
        "min_scored": 2,
        "sizes": {"train": 50, "eval": 10, "demos": 20},
        "sources": {"train": "s", "eval": "s", "demos": "s"},
    }
    return EntrySpec(name, **{**values, **changes})


def spec(**changes: Any) -> RunSpec:
    values: dict[str, Any] = {
        "plan_digest": PLAN,
        "seed": 7,
        "entries": (entry("a"), entry("b")),
        "phases": (
            EvaluationSpec("untrained", {"a": 3, "b": 2}),
            StageSpec("warm", "sft", batch=4, steps=2, publish_every=0),
            EvaluationSpec("before", {"a": 3, "b": 2}),
            StageSpec("rl", "rl", batch=2, steps=4, max_staleness=1, checkpoint_every=2),
            EvaluationSpec("after", {"a": 3, "b": 2}),
        ),
        "max_retries": 50,
        "watchdog_s": 1000.0,
    }
    return RunSpec(**{**values, **changes})


def open_ledger(path: Path) -> Ledger:
    """Open a ledger that need not survive a power cut."""
    ledger = Ledger(path, PLAN)
    list(ledger.rows("PRAGMA synchronous = OFF"))
    return ledger


def scored(reward: float) -> Verdict:
    return Scored({}, Payout(reward, reward > 0.5, None, {"outcome.right": reward}), "d", "r")


class FakeWorker:
    """One worker process: holds what it was given and answers when told to."""

    def __init__(self, role: Any, name: str, pid: int, slots: int) -> None:
        self.role, self.name, self.pid, self.slots = role, name, pid, slots
        self.peer = f"{name}#{pid}".encode()
        self.is_stopped = False
        self.held: dict[int, Any] = {}
        self.work: deque[Any] = deque()
        self.unacked: dict[int, Report] = {}
        self.sequence = 0
        self.version: WeightVersion | None = None
        self.step = 0

    def hello(self) -> Hello:
        held = tuple(
            Held(n, getattr(o, "episode", -1), getattr(o, "oldest", WeightVersion(0, 0))) for n, o in self.held.items()
        )
        return Hello(self.role, self.name, self.pid, (1, 1), PLAN, {"slots": float(self.slots)}, held)


class World:
    """The core, its ledger and its workers.

    Attributes:
        trained: Per lineage and step, the episodes the trainer was given.
        orders: Everything the core ever ordered.
    """

    def __init__(
        self,
        run: RunSpec,
        path: Path,
        *,
        seed: int = 0,
        roles: tuple[str, ...] = ("source", "rollout", "verify", "update"),
    ) -> None:
        self.spec, self.path = run, path
        self.rng = random.Random(seed)
        self.now_s = 0.0
        self.pid = 100
        self.ledger = open_ledger(path)
        self.core = Core(run, should_validate=True)
        self.workers: dict[str, FakeWorker] = {}
        self.mail: list[tuple[FakeWorker, int, Report]] = []
        self.order_loss = 0.0
        self.finish: Finish | None = None
        self.trained: dict[tuple[int, int], tuple[int, ...]] = {}
        self.batches: dict[int, Any] = {}
        self.orders: list[tuple[FakeWorker, Order]] = []
        self.reward = lambda episode: float(episode % 2)
        self.verdict = lambda episode: scored(self.reward(episode))
        for role in roles:
            self.start(role)

    def start(self, role: str, slots: int | None = None, name: str = "") -> FakeWorker:
        """Start a worker process, replacing one of the same name."""
        self.pid += 1
        name = name or f"{role}-0"
        worker = FakeWorker(role, name, self.pid, slots or {"rollout": 6, "source": 2}.get(role, 1))
        self.workers[name] = worker
        self.mail.append((worker, 0, worker.hello()))
        return worker

    def kill(self, name: str) -> None:
        """SIGKILL: what it had not sent is gone."""
        worker = self.workers.pop(name)
        self.mail = [item for item in self.mail if item[0] is not worker]

    def restart(self) -> None:
        """SIGKILL the coordinator and start it from its ledger; mail on the way to it is lost."""
        self.ledger.close()
        self.ledger = open_ledger(self.path)
        recovered = recover(self.spec, self.ledger)
        run, now_s = recovered if recovered is not None else (None, 0.0)
        self.now_s = max(self.now_s, now_s)
        self.core = Core(self.spec, run, incarnation=self.ledger.incarnation, now_s=self.now_s, should_validate=True)
        self.mail.clear()

    def post(self, worker: FakeWorker, report: Report) -> None:
        worker.sequence += 1
        worker.unacked[worker.sequence] = report
        self.mail.append((worker, worker.sequence, report))

    def turn(self, passed_s: float = 0.05, *, count: int | None = None, shuffle: bool = False) -> None:
        """One drain: deliver mail (all of it, or some), settle, commit, deliver orders."""
        self.now_s += passed_s
        count = len(self.mail) if count is None else min(count, len(self.mail))
        batch, self.mail = self.mail[:count], self.mail[count:]
        if shuffle:
            batch = self.interleave(batch)
        writes, sends = [], []
        events = [Received(worker.peer, sequence, report) for worker, sequence, report in batch]
        for event in (*events, Drained()):
            for instruction in self.core.handle(event, self.now_s):
                if isinstance(instruction, Write):
                    writes.append(instruction)
                elif isinstance(instruction, Send):
                    sends.append(instruction)
                else:
                    self.finish = instruction
        self.ledger.commit(writes)
        by_peer = {worker.peer: worker for worker in self.workers.values()}
        for send in sends:
            worker = by_peer.get(send.peer)
            if worker is not None and not (
                isinstance(send.order, (Ack, LeaseTasks, LeaseEpisode, LeaseVerify, BatchReady, Cancel))
                and self.rng.random() < self.order_loss
            ):
                self.orders.append((worker, send.order))
                self.deliver(worker, send.order)

    def interleave(self, batch: list[tuple[FakeWorker, int, Report]]) -> list[tuple[FakeWorker, int, Report]]:
        """Mix the mail of different workers; each worker's own stays in order, as a socket keeps it."""
        queues = {id(worker): deque(item for item in batch if item[0] is worker) for worker, _, _ in batch}
        mixed = []
        while queues:
            key = self.rng.choice(list(queues))
            mixed.append(queues[key].popleft())
            if not queues[key]:
                del queues[key]
        return mixed

    def drain(self) -> None:
        self.core.handle(DrainRequested("test"), self.now_s)

    def beat(self) -> None:
        """Every worker sends a heartbeat and repeats what is not acknowledged."""
        for worker in self.workers.values():
            self.mail.append((worker, 0, Heartbeat(tuple(worker.held))))
            self.mail.extend((worker, sequence, report) for sequence, report in worker.unacked.items())

    def deliver(self, worker: FakeWorker, order: Order) -> None:
        if isinstance(order, Ack):
            for sequence in order.sequences:
                report = worker.unacked.pop(sequence, None)
                worker.held.pop(getattr(report, "lease", -1), None)
        elif isinstance(order, WhoAreYou):
            self.mail.append((worker, 0, worker.hello()))
            self.mail.extend((worker, sequence, report) for sequence, report in worker.unacked.items())
        elif isinstance(order, (LeaseTasks, LeaseEpisode, LeaseVerify)):
            worker.held[order.lease] = order
            worker.work.append(order)
        elif isinstance(order, Cancel):
            for lease in order.leases:
                worker.held.pop(lease, None)
                worker.work = deque(item for item in worker.work if item.lease != lease)
        elif isinstance(order, UseWeights):
            worker.version = order.weights.version
        elif isinstance(order, Stop):
            worker.is_stopped = True
            self.mail.append((worker, 0, Goodbye("stop")))
            self.workers.pop(worker.name, None)
        elif isinstance(order, Welcome):
            if worker.role == "update" and worker.step == 0 and worker.version is None:
                worker.step = order.checkpoint.version.step if order.checkpoint else 0
                self.post(worker, Resume(worker.step))
        elif isinstance(order, Resumed):
            if worker.version is None:
                worker.version = order.version
                self.post(worker, WeightsPublished(Weights(worker.version, "w")))
                self.post(worker, Take(worker.version.lineage, worker.step + 1))
        elif isinstance(order, PublishWeights):
            assert worker.version is not None
            self.post(worker, CheckpointSaved(Checkpoint(worker.version, "c", "d")))
            self.post(worker, WeightsPublished(Weights(worker.version, "w")))
        elif isinstance(order, BatchReady):
            self.train(worker, order)

    def train(self, worker: FakeWorker, order: BatchReady) -> None:
        assert worker.version is not None
        if order.batch.step != worker.step + 1:
            return
        for sequence, report in list(worker.unacked.items()):
            if isinstance(report, Take):
                del worker.unacked[sequence]
        step = worker.step = order.batch.step
        assert self.batches.setdefault(step, order.batch) == order.batch
        worker.version = WeightVersion(worker.version.lineage, step)
        episodes = tuple(sibling.episode for group in order.batch.groups for sibling in group.siblings)
        assert (worker.version.lineage, step) not in self.trained
        self.trained[worker.version.lineage, step] = episodes
        checkpoint = Checkpoint(worker.version, "c", "d") if order.should_checkpoint else None
        empty = Array("float64", (0,), b"")
        self.post(worker, Commit(worker.version, {"loss": 0.0}, Array("int64", (0,), b""), empty, checkpoint, 0.1, 0.2))
        if order.should_publish:
            self.post(worker, WeightsPublished(Weights(worker.version, "w")))
        self.post(worker, Take(worker.version.lineage, step + 1))

    def work(self, name: str, n: int = 1) -> None:
        """Let a worker finish up to `n` of what it holds."""
        worker = self.workers[name]
        for _ in range(min(n, len(worker.work))):
            order = worker.work.popleft()
            self.post(worker, self.answer(worker, order))

    def answer(self, worker: FakeWorker, order: Any) -> Report:
        if isinstance(order, LeaseTasks):
            ready = tuple(
                ReadyTask(i, blob(f"{order.entry}{order.split}{i}"), f"h{order.split}{i}") for i in order.indices
            )
            return TasksReady(order.lease, order.entry, order.split, ready)
        if isinstance(order, LeaseEpisode):
            assert worker.version is not None
            return EpisodeDone(
                order.lease, order.episode, blob(f"t{order.episode}"), worker.version, Trace(1, 5, 3, wall_s=0.5), 5
            )
        assert isinstance(order, LeaseVerify)
        return VerdictDone(order.lease, order.episode, self.verdict(order.episode), 0.01)

    blob = staticmethod(blob)

    def go_until(self, is_reached: Callable[[], bool], turns: int = 400) -> None:
        """Let everybody behave until something holds."""
        for _ in range(turns):
            if is_reached():
                return
            for name in list(self.workers):
                self.work(name, 4)
            self.turn()
        raise AssertionError("not reached")

    def go(self, turns: int = 400) -> None:
        """Let everybody behave until the run is over."""
        for turn in range(turns):
            if turn % 10 == 0:
                self.beat()
            for name in list(self.workers):
                if name in self.workers:
                    self.work(name, 4)
            self.turn()
            if self.finish is not None:
                return
        raise AssertionError(f"no end after {turns} turns: {self.core.run.curriculum}, {self.core.run.counts}")


def unscored() -> Verdict:
    return Unscored("infra", "lost")


def settle(world: World, turns: int = 12, roles: tuple[str, ...] = ("source-0",)) -> None:
    for _ in range(turns):
        for name in roles:
            if name in world.workers:
                world.work(name, 100)
        world.turn(0.01)


def held(world: World, name: str, kind: type = LeaseEpisode) -> list[Any]:
    return [order for order in world.workers[name].work if isinstance(order, kind)]


def ordered(world: World, kind: type) -> list[Any]:
    return [order for _, order in world.orders if isinstance(order, kind)]


def silence(world: World, seconds: float, speaking: tuple[str, ...]) -> None:
    """Let time pass in which only some workers send heartbeats."""
    for _ in range(round(seconds / 0.5)):
        for name in speaking:
            worker = world.workers[name]
            world.mail.append((worker, 0, Heartbeat(tuple(worker.held))))
        world.turn(0.5)
