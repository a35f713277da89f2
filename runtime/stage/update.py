"""Rank 0 of update: it takes batches, makes steps, publishes weights and commits.

The loop is one page: `Resume`, then for each step `Take`, update, checkpoint where one is due, `Commit`, publish. What
was committed is never trained again, because `Take` of a step gives the same batch and a step that was not committed
left no weights behind.
"""

import math
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, TypeVar, cast

from assay.core.algorithm import Algorithm
from assay.core.array import Array
from assay.core.error import AssayError, PluginError, TrainerError
from assay.core.group import Batch
from assay.core.registry import owner_of
from assay.core.trainer import Ranks, UpdateResult, UpdateSettings
from assay.core.trajectory import WeightVersion
from assay.core.wire import (
    BatchReady,
    Checkpoint,
    CheckpointSaved,
    Commit,
    Fault,
    Order,
    PublishWeights,
    Resume,
    Resumed,
    Stop,
    Take,
    Weights,
    WeightsPublished,
    Welcome,
)
from assay.runtime.run.plan import RunPlan
from assay.runtime.stage.probe import ProbeFile, read_gap, write_probe
from assay.runtime.stage.rank import (
    Command,
    Leave,
    Load,
    Publish,
    RankWorker,
    Sample,
    Save,
    Update,
    encode_command,
)
from assay.runtime.stage.schedule import learning_rate
from assay.runtime.wire.client import Client

_T = TypeVar("_T")


class Publisher(Protocol):
    """Where versions are written for rollout workers."""

    folder: Path

    def publish(self, state: Iterable[tuple[str, Array]], version: WeightVersion) -> None:
        """Write a whole state; it is readable when this returns."""
        ...


class UpdateStage:
    """Rank 0.

    Args:
        plan: Of the run.
        ranks: All ranks, itself among them.
        worker: Executes commands on this rank.
        algorithm: From rewards to advantages.
        publisher: Writes versions.
        client: Connection.
        checkpoints: Folder of saved versions.
        probes: Sequences to compare log-probs by, and the folder they go to; None leaves no probe.
    """

    def __init__(
        self,
        plan: RunPlan,
        ranks: Ranks,
        worker: RankWorker,
        algorithm: Algorithm,
        publisher: Publisher,
        client: Client,
        *,
        checkpoints: Path,
        probes: tuple[tuple[Array, ...], Path] | None = None,
    ) -> None:
        self._plan = plan
        self._options = plan.settings["trainer"]
        self._ranks = ranks
        self._worker = worker
        self._algorithm = algorithm
        self._publisher = publisher
        self._client = client
        self._checkpoints = checkpoints
        self._probes = probes
        self._version = WeightVersion(0, 0)
        self._saved: WeightVersion | None = None
        self._published: WeightVersion | None = None
        self._orders: deque[Order] = deque()

    def run(self) -> None:
        """Train until the coordinator says stop.

        Raises:
            TrainerError: a batch or a checkpoint is unfit; the coordinator was told.
        """
        reason = "ended"
        try:
            if self._resume():
                self._publish()
                while self._step():
                    pass
            reason = "stopped"
        except AssayError as error:
            reason = str(error)
            self._client.send(Fault(reason, is_fatal=True))
            raise
        finally:
            self._do(Leave())
            self._client.close(reason)

    def _resume(self) -> bool:
        """Load the newest checkpoint and learn the lineage; False where the run is over already."""
        welcome = self._wait(Welcome)
        if welcome is None:
            return False
        step = 0
        if welcome.checkpoint is not None:
            checkpoint = welcome.checkpoint
            self._do(Load(checkpoint.folder, checkpoint.digest))
            self._saved = checkpoint.version
            step = checkpoint.version.step
        self._client.send(Resume(step))
        resumed = self._wait(Resumed)
        if resumed is None:
            return False
        self._version = resumed.version
        if self._saved is not None:
            # The same weights, under the name they have in the new lineage.
            self._saved = resumed.version
        return True

    def _step(self) -> bool:
        """Make one step; False when the run is over."""
        started_s = time.monotonic()
        self._client.send(Take(self._version.lineage, self._version.step + 1))
        ready = self._wait(BatchReady)
        if ready is None:
            return False
        taken_s = time.monotonic()
        batch, before = ready.batch, self._version
        rate = self._rate(ready)
        samples, advantages = self._samples(batch)
        settings = UpdateSettings(
            loss="sft" if ready.kind == "sft" else "policy",
            lr=rate,
            weight_decay=self._options["weight_decay"],
            max_grad_norm=self._options["max_grad_norm"],
            micro_tokens=self._options["micro_tokens"],
            loss_options=self._algorithm.loss_options,
        )
        result = self._do(Update(before, samples, settings, ready.should_reset_optimizer))
        if not isinstance(result, UpdateResult):
            raise TrainerError("an update must give its result", got=repr(result))
        self._version = WeightVersion(before.lineage, batch.step)
        checkpoint = self._save() if ready.should_checkpoint else None
        episodes = [sibling.episode for group in batch.groups for sibling in group.siblings]
        self._client.send(
            Commit(
                self._version,
                {"loss": result.loss, "grad_norm": result.grad_norm, "tokens": float(result.num_tokens), "lr": rate}
                | result.metrics
                | batch_metrics(batch, before)
                | self._probe_metrics(),
                Array.of(episodes, "int64"),
                Array.of(advantages, "float64"),
                checkpoint,
                wait_s=taken_s - started_s,
                busy_s=time.monotonic() - taken_s,
            )
        )
        if ready.should_publish:
            self._publish()
        return True

    def _samples(self, batch: Batch) -> tuple[tuple[Sample, ...], list[float]]:
        if batch.demonstrations:
            return tuple(Sample(one.domain, one.blob, 1.0) for one in batch.demonstrations), []
        rewards = [(group.domain, [sibling.reward for sibling in group.siblings]) for group in batch.groups]
        per_group = self._advantages(rewards)
        samples = [
            Sample(group.domain, sibling.trajectory, advantage)
            for group, advantages in zip(batch.groups, per_group, strict=True)
            for sibling, advantage in zip(group.siblings, advantages, strict=True)
        ]
        return tuple(samples), [sample.advantage for sample in samples]

    def _advantages(self, groups: list[tuple[str, list[float]]]) -> list[list[float]]:
        """Ask the algorithm, which must answer with one finite number per sibling."""
        owner = owner_of(self._plan.factories.get("algorithm", type(self._algorithm).__module__))
        try:
            found = self._algorithm.advantages(groups)
        except AssayError:
            raise
        except Exception as error:
            raise PluginError("an algorithm must not raise", got=repr(error), at=owner) from error
        sizes = [len(rewards) for _, rewards in groups]
        if [len(one) for one in found] != sizes or not all(math.isfinite(value) for one in found for value in one):
            must = "an algorithm must give one finite advantage per sibling"
            raise PluginError(must, got=f"{found} for groups of {sizes}"[:300], at=owner)
        return found

    def _rate(self, ready: BatchReady) -> float:
        # Evaluations may cut a stage into parts; its schedule goes on.
        stage, begun = self._plan.stage(ready.batch.stage), self._plan.stage_begins(ready.batch.stage)
        return learning_rate(
            ready.batch.step - begun if stage.steps else ready.stage_step,
            stage.steps,
            stage.lr,
            warmup=stage.warmup,
            decay=stage.decay,
            floor=self._options["lr_floor"],
        )

    def _publish(self) -> None:
        self._publisher.publish(cast(list[tuple[str, Array]], self._do(Publish())), self._version)
        if self._probes is not None:
            sequences, folder = self._probes
            write_probe(folder, ProbeFile(self._version, sequences, tuple(self._worker.logprobs(sequences))))
        self._client.send(WeightsPublished(Weights(self._version, str(self._publisher.folder))))
        self._published = self._version

    def _probe_metrics(self) -> dict[str, float]:
        gap = None if self._probes is None else read_gap(self._probes[1])
        return {} if gap is None else {"probe_gap": gap}

    def _save(self) -> Checkpoint:
        folder = self._checkpoints / str(self._version)
        digest = self._do(Save(str(folder), self._version))
        self._saved = self._version
        return Checkpoint(self._version, str(folder), str(digest))

    def _do(self, command: Command) -> object:
        self._ranks.broadcast(encode_command(command))
        return self._worker.execute(command)

    def _wait(self, kind: type[_T]) -> _T | None:
        """Return the next order of a kind; on the way, publish where asked. None: the run is over."""
        while True:
            while not self._orders:
                self._orders.extend(self._client.poll(5.0))
            order = self._orders.popleft()
            if isinstance(order, kind):
                return order
            if isinstance(order, PublishWeights):
                self._publish_now(order)
            elif isinstance(order, Stop):
                self._leave_checkpoint()
                return None

    def _publish_now(self, order: PublishWeights) -> None:
        if order.should_checkpoint and self._saved != self._version:
            self._client.send(CheckpointSaved(self._save()))
        if self._published != self._version:
            self._publish()

    def _leave_checkpoint(self) -> None:
        if self._version.step > 0 and (self._saved is None or self._saved < self._version):
            self._client.send(CheckpointSaved(self._save()))


def batch_metrics(batch: Batch, before: WeightVersion) -> dict[str, float]:
    """Return what is known of a batch without reading it: reward per domain, staleness, groups.

    Args:
        batch: As taken.
        before: Weights that it trains.
    """
    rewards: dict[str, list[float]] = {}
    for group in batch.groups:
        rewards.setdefault(group.domain, []).extend(sibling.reward for sibling in group.siblings)
    metrics = {f"reward/{domain}": sum(values) / len(values) for domain, values in rewards.items()}
    lags = [before.step - sibling.version.step for group in batch.groups for sibling in group.siblings]
    if lags:
        metrics |= {"lag_mean": sum(lags) / len(lags), "lag_max": float(max(lags)), "groups": float(len(batch.groups))}
    return metrics
