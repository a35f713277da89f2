"""Trainers: sequences in, a new weight version out."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from assay.core.array import Array

LossName = Literal["sft", "policy"]


class TrainSequence(msgspec.Struct, frozen=True, array_like=True):
    """One training sequence: a path from a root of the trajectory to a leaf.

    Attributes:
        tokens: int32, shape (T,).
        loss_mask: 1 where the token is trained; uint8, shape (T,); position 0 is never trained.
        behavior_logprobs: 0 where `loss_mask` is 0; float32, shape (T,).
        advantages: Per token, 0 where `loss_mask` is 0; float32, shape (T,). Ones for `sft`.
        domain: Name of the mix entry, for metrics.
        episode: Number in the ledger; -1 for a demonstration.
        ref_logprobs: Of the reference policy, 0 where `loss_mask` is 0; float32, shape (T,); None without a reference.
        staleness: Updates between the weights that sampled each token and those it trains; int32, shape (T,); None
            where nobody knows. The train/rollout gap is measured where it is 0.
    """

    tokens: Array
    loss_mask: Array
    behavior_logprobs: Array
    advantages: Array
    domain: str
    episode: int = -1
    ref_logprobs: Array | None = None
    staleness: Array | None = None


class UpdateSettings(msgspec.Struct, frozen=True, array_like=True):
    """How to make one step.

    Attributes:
        loss: `sft` or `policy`.
        lr: Learning rate of this step.
        weight_decay: Decoupled.
        max_grad_norm: Clip.
        micro_tokens: Most padded tokens of one micro-batch.
        loss_options: What the algorithm passes to its loss, such as clip ranges.
    """

    loss: LossName
    lr: float
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    micro_tokens: int = 16384
    loss_options: dict[str, float] = {}


class UpdateResult(msgspec.Struct, frozen=True, array_like=True):
    """What one step did.

    Attributes:
        loss: Mean over trained tokens, in float64 on the host.
        grad_norm: Before the clip.
        num_tokens: Trained tokens over all ranks.
        metrics: Further means by name, such as `importance_ratio`, `clipped`, `logprob_gap`.
    """

    loss: float
    grad_norm: float
    num_tokens: int
    metrics: dict[str, float] = {}


class Ranks(Protocol):
    """The ranks of a trainer, as one of them sees them.

    Attributes:
        rank: From 0. Rank 0 decides and speaks to the coordinator; the others do what it broadcasts.
        world_size: How many there are.
    """

    rank: int
    world_size: int

    def broadcast(self, payload: bytes | None = None) -> bytes:
        """Hand the bytes of rank 0 to all; the others pass nothing and wait."""
        ...


class OneRank:
    """The ranks of a trainer that is one process."""

    rank = 0
    world_size = 1

    def broadcast(self, payload: bytes | None = None) -> bytes:
        """Return the bytes: nobody else is there."""
        return payload or b""


class Trainer(Protocol):
    """The trainer as one rank sees it; all ranks call the same methods in the same order.

    Made as `factory(policy, seed=..., **options)` with the folder of a policy in Hugging Face layout. A process that is
    one of several finds `RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `MASTER_ADDR` and `MASTER_PORT` in its environment.

    Attributes:
        group: All ranks.
        data_rank: Which share of a batch this rank trains; ranks that divide a model have the same share.
        data_size: Number of shares.
    """

    group: Ranks
    data_rank: int
    data_size: int

    def update(self, sequences: Sequence[TrainSequence], settings: UpdateSettings) -> UpdateResult:
        """Make one optimizer step on this rank's share of the batch.

        Raises:
            TrainerError: no trained token on any rank, or a loss that is not finite; the weights stay.
        """
        ...

    def logprobs(self, sequences: Sequence[Array]) -> list[Array]:
        """Return policy log-probs of each token after the first; float32, shape (T - 1,) each."""
        ...

    def state(self) -> Iterator[tuple[str, Array]]:
        """Yield the weights under their Hugging Face names, float32, on rank 0; other ranks take part."""
        ...

    def reset_optimizer(self) -> None:
        """Forget moments and step count, as a stage may ask."""
        ...

    def save(self, folder: Path, extra: dict[str, Any]) -> str:
        """Write a checkpoint, whole or not at all; returns its digest.

        The folder is a policy folder too: `config.json`, the tokenizer and `model*.safetensors` in float32, which
        `assay eval` and `assay export` read.
        """
        ...

    def load(self, folder: Path, digest: str) -> dict[str, Any]:
        """Read a checkpoint whose digest the ledger holds; returns `extra`.

        Raises:
            TrainerError: the folder is not what the digest says.
        """
        ...

    def close(self) -> None:
        """Leave the process group."""
        ...
