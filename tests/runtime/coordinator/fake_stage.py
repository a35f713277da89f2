"""Stand-ins for stage processes that speak the real wire: `python fake_stage.py ROLE RUN_FOLDER [WORK_S]`.

They share the file `weights.json` for versions and `trained.log` for what the trainer was given; the role `coordinator`
is the real one.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

from assay.core.array import Array
from assay.core.blob import BlobRef
from assay.core.trajectory import Trace, WeightVersion
from assay.core.verdict import Payout, Scored
from assay.core.wire import (
    BatchReady,
    Checkpoint,
    CheckpointSaved,
    Commit,
    EpisodeDone,
    LeaseEpisode,
    LeaseTasks,
    LeaseVerify,
    PublishWeights,
    ReadyTask,
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
)
from assay.runtime.coordinator.loop import run_coordinator
from assay.runtime.coordinator.spec import EntrySpec, EvaluationSpec, RunSpec, StageSpec
from assay.runtime.wire.client import Client
from assay.runtime.wire.server import socket_address

PLAN = "fake"
EMPTY_IDS, EMPTY = Array("int64", (0,), b""), Array("float64", (0,), b"")


def spec(steps: int = 8, heartbeat_s: float = 0.1) -> RunSpec:
    entries = tuple(
        EntrySpec(name, 1.0, 4, 2, {"train": 100, "eval": 4, "demos": 20}, {"train": name, "eval": name, "demos": name})
        for name in ("a", "b")
    )
    return RunSpec(
        PLAN,
        1,
        entries,
        (
            EvaluationSpec("untrained", {"a": 4, "b": 4}),
            StageSpec("warm", "sft", batch=4, steps=3, publish_every=0),
            EvaluationSpec("before", {"a": 4, "b": 4}),
            StageSpec("rl", "rl", batch=3, steps=steps, checkpoint_every=2),
            EvaluationSpec("after", {"a": 4, "b": 4}),
        ),
        heartbeat_s=heartbeat_s,
        max_retries=100,
        max_deaths=100,
        watchdog_s=60.0,
        drain_s=3.0,
    )


def blob(text: str) -> BlobRef:
    return BlobRef(text.ljust(64, "0")[:64], 1)


def work(client: Client, run_folder: Path, work_s: float) -> None:
    version = WeightVersion(0, 0)
    while True:
        for order in client.poll(0.5):
            if isinstance(order, Stop):
                return
            if isinstance(order, UseWeights):
                version = order.weights.version
                continue
            if isinstance(order, (LeaseTasks, LeaseEpisode, LeaseVerify)):
                time.sleep(work_s)
                slow = run_folder / f"slow-{client.role}"
                if slow.exists():
                    # One item that takes longer than the coordinator is stopped for.
                    slow.rename(run_folder / f"slow-{client.role}-begun")
                    time.sleep(float(os.environ["SLOW_S"]))
                with (run_folder / "worked.log").open("a") as log:
                    log.write(f"{type(order).__name__} {getattr(order, 'episode', -1)}\n")
                client.send(answer(order, version))


def answer(order: Any, version: WeightVersion) -> Any:
    if isinstance(order, LeaseTasks):
        ready = tuple(ReadyTask(i, blob(f"{order.entry}{i}"), f"{order.entry}{order.split}{i}") for i in order.indices)
        return TasksReady(order.lease, order.entry, order.split, ready)
    if isinstance(order, LeaseEpisode):
        return EpisodeDone(order.lease, order.episode, blob(f"t{order.episode}"), version, Trace(1, 4, 3), 4)
    reward = float(order.episode % 2)
    payout = Payout(reward, reward > 0, None, {"outcome.right": reward})
    return VerdictDone(order.lease, order.episode, Scored({}, payout, "d", "r"), 0.001)


def train(client: Client, run_folder: Path, work_s: float) -> None:
    version = WeightVersion(0, 0)
    while True:
        for order in client.poll(0.5):
            if isinstance(order, Stop):
                return
            if isinstance(order, Welcome):
                if version == WeightVersion(0, 0):
                    client.send(Resume(0 if order.checkpoint is None else order.checkpoint.version.step))
            elif isinstance(order, Resumed):
                version = order.version
                client.send(WeightsPublished(Weights(version, "w")))
                client.send(Take(version.lineage, version.step + 1))
            elif isinstance(order, PublishWeights):
                client.send(CheckpointSaved(Checkpoint(version, "c", "d")))
                client.send(WeightsPublished(Weights(version, "w")))
            elif isinstance(order, BatchReady) and order.batch.step == version.step + 1:
                time.sleep(work_s)
                version = WeightVersion(version.lineage, order.batch.step)
                episodes = sorted(sibling.episode for group in order.batch.groups for sibling in group.siblings)
                with (run_folder / "trained.log").open("a") as log:
                    log.write(f"{version.lineage} {version.step} {episodes}\n")
                checkpoint = Checkpoint(version, "c", "d") if order.should_checkpoint else None
                client.send(Commit(version, {"loss": 0.0}, EMPTY_IDS, EMPTY, checkpoint, 0.0, work_s))
                if order.should_publish:
                    client.send(WeightsPublished(Weights(version, "w")))
                client.send(Take(version.lineage, version.step + 1))


def main() -> None:
    role, run_folder = sys.argv[1], Path(sys.argv[2])
    work_s = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    if role == "coordinator":
        finish = run_coordinator(run_folder, spec(int(os.environ.get("STEPS", "8"))), should_validate=True)
        print(finish.code, finish.reason, flush=True)
        sys.exit(finish.code)
    slots = {"rollout": 4.0, "source": 2.0}.get(role, 1.0)
    client = Client(
        socket_address(run_folder),
        role=role,  # type: ignore[arg-type]
        worker=f"{role}-0",
        plan_digest=os.environ.get("PLAN", PLAN),
        capacity={"slots": slots},
    )
    with client:
        (train if role == "update" else work)(client, run_folder, work_s)


if __name__ == "__main__":
    main()
