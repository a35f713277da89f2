"""Items per CPU second of the coordinator, at 1, 8 and 32 messages a frame.

An item is one episode: lease, result, lease, verdict, acknowledgements, and the commits (WAL, FULL) between them. The
loop, the core and the ledger are the real ones, in a process of their own; CPU time is that of this whole process while
the loop runs, the socket's thread included. The workers' side is a driver in the process that measures.
"""

import multiprocessing
import tempfile
import time
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import zmq

from assay.core.array import Array
from assay.core.blob import BlobRef
from assay.core.trajectory import Trace, WeightVersion
from assay.core.verdict import Measurement, Payout, Scored
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
    PublishWeights,
    ReadyTask,
    Report,
    Resume,
    Resumed,
    Role,
    Stop,
    Take,
    TasksReady,
    VerdictDone,
    Weights,
    WeightsPublished,
    decode_orders,
    encode_reports,
)
from assay.runtime.coordinator.ledger import read_only
from assay.runtime.coordinator.loop import run_coordinator
from assay.runtime.coordinator.spec import EntrySpec, RunSpec, StageSpec
from assay.runtime.coordinator.status import figures

NAME = "coordinator"
NUM_ITEMS = {1: 6000, 8: 12000, 32: 20000}
GROUP_SIZE, BATCH = 8, 16


def run() -> dict[str, float]:
    """Return `items_per_cpu_s_<messages a frame>`."""
    return {f"items_per_cpu_s_{size}": measure(size) for size in NUM_ITEMS}


def measure(frame: int) -> float:
    """Return items per CPU second of the coordinator's thread.

    Args:
        frame: Messages the driver puts into one frame; it waits for the answers to a frame before it sends the next.
    """
    steps = NUM_ITEMS[frame] // (GROUP_SIZE * BATCH)
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        coordinator = spawn.Process(target=_coordinate, args=(folder, steps, there))
        coordinator.start()
        here.recv()
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        _drive(context, f"ipc://{folder}/s", frame, coordinator.is_alive)
        context.term()
        code, trained, spent_s = here.recv()
        coordinator.join()
    if code or trained != steps * BATCH * GROUP_SIZE:
        raise RuntimeError(f"the measured run must end well, got code {code} with {trained} trained")
    return trained / spent_s


def _coordinate(folder: str, steps: int, pipe: Connection) -> None:
    begun_s: list[float] = []

    def begin() -> None:
        begun_s.append(time.process_time())
        pipe.send(None)

    finish = run_coordinator(Path(folder), _spec(steps), address=f"ipc://{folder}/s", on_ready=begin)
    spent_s = time.process_time() - begun_s[0]
    db = read_only(Path(folder) / "ledger.sqlite")
    trained = figures(db)["episodes"]["trained"]
    db.close()
    pipe.send((finish.code, trained, spent_s))


def _spec(steps: int) -> RunSpec:
    entries = tuple(
        EntrySpec(name, 1.0, GROUP_SIZE, 4, {"train": 10_000}, {"train": name}) for name in ("a", "b", "c", "d")
    )
    stage = StageSpec("rl", "rl", batch=BATCH, steps=steps, max_staleness=3)
    return RunSpec("bench", 0, entries, (stage,), heartbeat_s=30.0, admit=lambda rewards: True)


class _Peer:
    """One fake worker: its socket, and reports that wait to fill a frame."""

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]", address: str, role: Role, slots: int) -> None:
        self.socket = context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 1000)
        self.socket.connect(address)
        self.reports: deque[tuple[int, Report]] = deque()
        self.sequence = 0
        self.socket.send(encode_reports([(0, Hello(role, role, 1, (PROTOCOL, PROTOCOL), "bench", {"slots": slots}))]))

    def add(self, report: Report) -> None:
        self.sequence += 1
        self.reports.append((self.sequence, report))

    def send(self, most: int) -> None:
        if self.reports:
            self.socket.send(encode_reports([self.reports.popleft() for _ in range(min(most, len(self.reports)))]))


def _drive(context: "zmq.Context[zmq.Socket[bytes]]", address: str, frame: int, is_alive: Callable[[], bool]) -> None:
    slots: dict[Role, int] = {"source": 4, "rollout": 4 * frame, "verify": 4 * frame, "update": 1}
    peers = {role: _Peer(context, address, role, number) for role, number in slots.items()}
    poller = zmq.Poller()
    for peer in peers.values():
        poller.register(peer.socket, zmq.POLLIN)
    peers["update"].add(Resume(0))
    trainer = WeightVersion(0, 0)
    while True:
        for role, peer in peers.items():
            peer.send(frame if role in ("rollout", "verify") else 64)
        readable = poller.poll(0 if any(peer.reports for peer in peers.values()) else 1000)
        if not readable and not is_alive():
            raise RuntimeError("the coordinator must live until it says stop")
        for socket, _ in readable:
            peer = next(item for item in peers.values() if item.socket is socket)
            for order in decode_orders(socket.recv()):
                if isinstance(order, Stop):
                    for item in peers.values():
                        item.socket.close()
                    return
                if isinstance(order, LeaseTasks):
                    ready = tuple(ReadyTask(index, _blob(index), "h") for index in order.indices)
                    peer.add(TasksReady(order.lease, order.entry, order.split, ready))
                elif isinstance(order, LeaseEpisode):
                    done = EpisodeDone(order.lease, order.episode, _blob(order.episode), order.oldest, _TRACE, 20)
                    peer.add(done)
                elif isinstance(order, LeaseVerify):
                    peer.add(VerdictDone(order.lease, order.episode, _verdict(order.episode), 0.001))
                elif isinstance(order, Resumed):
                    peer.add(WeightsPublished(Weights(trainer, "w")))
                    peer.add(Take(0, 1))
                elif isinstance(order, PublishWeights):
                    peer.add(CheckpointSaved(Checkpoint(trainer, "c", "0" * 64)))
                elif isinstance(order, BatchReady):
                    trainer = WeightVersion(0, order.batch.step)
                    peer.add(Commit(trainer, {"loss": 0.0}, _EMPTY_IDS, _EMPTY))
                    peer.add(WeightsPublished(Weights(trainer, "w")))
                    peer.add(Take(0, order.batch.step + 1))


_TRACE = Trace(1, 20, 30)
_EMPTY_IDS, _EMPTY = Array("int64", (0,), b""), Array("float64", (0,), b"")


def _blob(number: int) -> BlobRef:
    return BlobRef(f"{number:064x}", 1000, "rollout-0~0.seg", number * 1000)


def _verdict(episode: int) -> Scored:
    measurement = Measurement("assay-rl:0.1.0:assay.runtime.verifier:equal", 1, {"equal": bool(episode % 2)}, 0.001)
    payout = Payout(float(episode % 2), bool(episode % 2), None, {"outcome.correct": float(episode % 2)})
    return Scored({"ans": measurement}, payout, "0" * 64, "1" * 64)
