"""Rank 0 leads, the other ranks follow: the update stage sees one trainer, however many ranks it has.

The leader broadcasts an order and the data, every rank carries it out on its own share. Orders are msgspec bytes, never
pickles. An order that the trainer refuses is refused by every rank, and the followers wait for the next one.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from assay.core.array import Array
from assay.core.error import TrainerError
from assay.core.trainer import TrainSequence, UpdateResult, UpdateSettings
from assay.runtime.trainer.batch import share
from assay.runtime.trainer.megatron import MegatronTrainer


class _Order(msgspec.Struct, frozen=True, array_like=True, tag=True):
    pass


class _Update(_Order, frozen=True, array_like=True, tag=True):
    shares: list[list[TrainSequence]]
    settings: UpdateSettings


class _Logprobs(_Order, frozen=True, array_like=True, tag=True):
    sequences: list[Array]


class _State(_Order, frozen=True, array_like=True, tag=True):
    pass


class _Reset(_Order, frozen=True, array_like=True, tag=True):
    pass


class _Save(_Order, frozen=True, array_like=True, tag=True):
    folder: str
    extra: dict[str, Any]


class _Load(_Order, frozen=True, array_like=True, tag=True):
    folder: str
    digest: str


class _Close(_Order, frozen=True, array_like=True, tag=True):
    pass


_AnyOrder = _Update | _Logprobs | _State | _Reset | _Save | _Load | _Close
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_AnyOrder)


class LeadTrainer:
    """The trainer of rank 0 as the update stage sees it: whole batches in, all ranks at work.

    Args:
        trainer: This rank's part.
    """

    def __init__(self, trainer: MegatronTrainer) -> None:
        self.trainer = trainer

    def update(self, sequences: Sequence[TrainSequence], settings: UpdateSettings) -> UpdateResult:
        """Make one optimizer step on the whole batch; see `Trainer.update`."""
        shares = share([len(sequence.tokens) for sequence in sequences], self.trainer.data_size)
        order = _Update([[sequences[index] for index in indices] for indices in shares], settings)
        return cast(UpdateResult, self._carry_out(order))

    def logprobs(self, sequences: Sequence[Array]) -> list[Array]:
        """Return log-probs of each token after the first; every rank computes all of them."""
        return cast(list[Array], self._carry_out(_Logprobs(list(sequences))))

    def state(self) -> Iterator[tuple[str, Array]]:
        """Yield the weights; the iterator must be exhausted before the next call."""
        yield from self._carry_out(_State())

    def reset_optimizer(self) -> None:
        """Forget moments and step count on every rank."""
        self._carry_out(_Reset())

    def save(self, folder: Path, extra: dict[str, Any]) -> str:
        """Write a checkpoint; returns its digest."""
        return cast(str, self._carry_out(_Save(str(folder), extra)))

    def load(self, folder: Path, digest: str) -> dict[str, Any]:
        """Read a checkpoint on every rank; the folder must be in reach of all."""
        return cast(dict[str, Any], self._carry_out(_Load(str(folder), digest)))

    def close(self) -> None:
        """End every rank's loop and leave the group."""
        self._carry_out(_Close())

    def _carry_out(self, order: _AnyOrder) -> Any:
        if self.trainer.group.world_size > 1:
            self.trainer.group.broadcast(_encoder.encode(order))
        return _carry_out(self.trainer, order)


def follow(trainer: MegatronTrainer) -> None:
    """Carry out the leader's orders until it closes."""
    while True:
        order = _decoder.decode(trainer.group.broadcast())
        # Every rank refuses alike, and the leader reports it.
        with contextlib.suppress(TrainerError):
            done = _carry_out(trainer, order)
            if isinstance(order, _State):
                for _ in done:
                    pass
        if isinstance(order, _Close):
            return


def _carry_out(trainer: MegatronTrainer, order: _AnyOrder) -> Any:
    match order:
        case _Update():
            return trainer.update(order.shares[trainer.data_rank], order.settings)
        case _Logprobs():
            return trainer.logprobs(order.sequences)
        case _State():
            return trainer.state()
        case _Reset():
            return trainer.reset_optimizer()
        case _Save():
            return trainer.save(Path(order.folder), order.extra)
        case _Load():
            return trainer.load(Path(order.folder), order.digest)
        case _Close():
            return trainer.close()
