"""One trainer rank: it does what rank 0 broadcasts, as every other rank does.

Rank 0 decides and speaks ZeroMQ; a command is plain bytes, and each rank reads its own blobs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.array import Array
from assay.core.blob import BlobRef
from assay.core.chat import ChatFormat
from assay.core.store import Store
from assay.core.task import Demonstration
from assay.core.trainer import Ranks, Trainer, TrainSequence, UpdateResult, UpdateSettings
from assay.core.trajectory import Trajectory, WeightVersion
from assay.runtime.run.plan import RunPlan
from assay.runtime.stage.sequence import demonstration_sequence, trajectory_sequences


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One trajectory or demonstration to train on: domain, place, advantage."""

    domain: str
    blob: BlobRef
    advantage: float


class Update(msgspec.Struct, frozen=True, array_like=True, tag="update"):
    """Make one step.

    Attributes:
        version: Weights that are trained, before the update.
        samples: Of the whole batch; each rank takes its share.
        settings: Of the step.
        should_reset_optimizer: Forget moments before.
    """

    version: WeightVersion
    samples: tuple[Sample, ...]
    settings: UpdateSettings
    should_reset_optimizer: bool = False


class Publish(msgspec.Struct, frozen=True, array_like=True, tag="publish"):
    """Gather the weights on rank 0, which writes them where rollout workers read."""


class Save(msgspec.Struct, frozen=True, array_like=True, tag="save"):
    """Write a checkpoint."""

    folder: str
    version: WeightVersion


class Load(msgspec.Struct, frozen=True, array_like=True, tag="load"):
    """Go back to a checkpoint."""

    folder: str
    digest: str


class Leave(msgspec.Struct, frozen=True, array_like=True, tag="leave"):
    """Close the trainer and end."""


Command = Update | Publish | Save | Load | Leave
_decoder = msgspec.msgpack.Decoder(Command)


class RankWorker:
    """Executes commands.

    Args:
        plan: Of the run.
        trainer: This rank's.
        chat: Of the policy, for demonstrations.
        store: To read from.
    """

    def __init__(self, plan: RunPlan, trainer: Trainer, chat: ChatFormat, store: Store) -> None:
        self._programs = {entry.name: entry.program for entry in plan.entries}
        self._trainer = trainer
        self._chat = chat
        self._store = store

    def follow(self, ranks: Ranks) -> None:
        """Do what rank 0 says until it leaves."""
        while True:
            command = _decoder.decode(ranks.broadcast())
            self.execute(command)
            if isinstance(command, Leave):
                return

    def execute(self, command: Command) -> Any:
        """Do one command; every rank does the same one.

        Raises:
            TrainerError: the batch or the checkpoint is unfit.
            StoreError: a blob is missing or forged.
        """
        match command:
            case Update():
                return self._update(command)
            case Publish():
                return list(self._trainer.state())
            case Save():
                extra = {"lineage": command.version.lineage, "step": command.version.step}
                return self._trainer.save(Path(command.folder), extra)
            case Load():
                return self._trainer.load(Path(command.folder), command.digest)
            case Leave():
                self._trainer.close()
                self._store.close()
        return None

    def logprobs(self, sequences: Sequence[Array]) -> list[Array]:
        """Return log-probs on a trainer of one rank; see `Trainer.logprobs`."""
        return self._trainer.logprobs(sequences)

    def _update(self, command: Update) -> UpdateResult:
        if command.should_reset_optimizer:
            self._trainer.reset_optimizer()
        sequences: list[TrainSequence] = []
        for sample in self._share(command.samples):
            sequences += self._sequences(sample, command.version, command.settings.loss == "sft")
        return self._trainer.update(sequences, command.settings)

    def _share(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        """Return this rank's samples: every rank about as many bytes, which stand for tokens, unread."""
        size = self._trainer.data_size
        if size == 1:
            return samples
        order = sorted(range(len(samples)), key=lambda index: (-samples[index].blob.num_bytes, index))
        totals = [0] * size
        mine: list[int] = []
        for index in order:
            least = totals.index(min(totals))
            totals[least] += samples[index].blob.num_bytes
            if least == self._trainer.data_rank:
                mine.append(index)
        return [samples[index] for index in sorted(mine)]

    def _sequences(self, sample: Sample, version: WeightVersion, is_sft: bool) -> list[TrainSequence]:
        data = self._store.get(sample.blob)
        if is_sft:
            demonstration = msgspec.msgpack.decode(data, type=Demonstration)
            return [demonstration_sequence(demonstration, self._programs[sample.domain], self._chat, sample.domain)]
        trajectory = msgspec.msgpack.decode(data, type=Trajectory)
        return list(trajectory_sequences(trajectory, sample.domain, sample.advantage, version))


def encode_command(command: Command) -> bytes:
    """Return a command as bytes for `Ranks.broadcast`."""
    return msgspec.msgpack.encode(command)
