"""Micro-batches: training sequences of many lengths as few padded tensors.

Sequences are sorted by length and packed until a micro-batch would exceed its padded tokens, so that little is padding
and every micro-batch costs about the same. Padding stands on the right, where causal attention never sees it. The order
depends on lengths and positions alone: equal batches make equal micro-batches.

Shapes: B sequences, T positions, each predicting the next token.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from assay.core.array import Array
from assay.core.error import TrainerError
from assay.core.trainer import TrainSequence

_DTYPES = {"int32": "<i4", "float32": "<f4", "uint8": "u1"}
# Name, dtype and bytes per token of the arrays of a sequence.
_FIELDS = (
    ("tokens", "int32", 4),
    ("loss_mask", "uint8", 1),
    ("behavior_logprobs", "float32", 4),
    ("advantages", "float32", 4),
    ("ref_logprobs", "float32", 4),
    ("staleness", "int32", 4),
)


class MicroBatch(NamedTuple):
    """Padded sequences; position t holds a token and what is known about the one after it.

    Attributes:
        tokens_BT: Input; int64.
        labels_BT: The next token; int64.
        loss_mask_BT: 1 where the next token is trained; float32.
        behavior_logprobs_BT: Of the next token when it was sampled; float32.
        advantages_BT: Of the next token; float32.
        current_BT: 1 where the next token was sampled by the trainer's own weights; float32.
        ref_logprobs_BT: Of the next token under the reference; float32; None where no sequence brings them.
        trained_N: Where the mask is 1, as indices t * B + b; never empty, so that every micro-batch has a gradient;
            int64, shape (N,).
    """

    tokens_BT: Tensor
    labels_BT: Tensor
    loss_mask_BT: Tensor
    behavior_logprobs_BT: Tensor
    advantages_BT: Tensor
    current_BT: Tensor
    ref_logprobs_BT: Tensor | None
    trained_N: Tensor


def concatenate(arrays: Sequence[Array]) -> np.ndarray:
    """Return the values of arrays of one dtype, one after the other, read-only."""
    return np.frombuffer(b"".join([array.data for array in arrays]), _DTYPES[arrays[0].dtype])


def pack(lengths: Sequence[int], micro_tokens: int) -> list[list[int]]:
    """Divide sequences into micro-batches, longest first.

    Args:
        lengths: Tokens of each sequence, at least 1.
        micro_tokens: Most padded tokens of a micro-batch; a longer sequence gets one of its own.

    Returns:
        Indices of the sequences of each micro-batch; every sequence once.
    """
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    packs: list[list[int]] = []
    for index in order:
        if packs and (len(packs[-1]) + 1) * lengths[packs[-1][0]] <= micro_tokens:
            packs[-1].append(index)
        else:
            packs.append([index])
    return packs


def share(lengths: Sequence[int], num_shares: int) -> list[list[int]]:
    """Divide sequences among data-parallel ranks so that each gets about the same number of tokens.

    Args:
        lengths: Tokens of each sequence.
        num_shares: Data-parallel ranks.

    Returns:
        Indices per rank, rising; every sequence once.
    """
    shares: list[list[int]] = [[] for _ in range(num_shares)]
    totals = [0] * num_shares
    for index in sorted(range(len(lengths)), key=lambda index: (-lengths[index], index)):
        least = totals.index(min(totals))
        shares[least].append(index)
        totals[least] += lengths[index]
    return [sorted(indices) for indices in shares]


def check_sequences(sequences: Sequence[TrainSequence], vocab_size: int) -> None:
    """Refuse sequences that cannot be trained on.

    Raises:
        TrainerError: arrays of unequal length or another dtype, a trained first token, or a token outside the
            vocabulary.
    """
    for position, sequence in enumerate(sequences):
        shape = sequence.tokens.shape
        for name, dtype, num_bytes in _FIELDS:
            array: Array | None = getattr(sequence, name)
            if array is None and name in ("ref_logprobs", "staleness"):
                continue
            if array is None or array.shape != shape or array.dtype != dtype or len(array.data) != num_bytes * shape[0]:
                got = None if array is None else f"{array.dtype}{list(array.shape)}"
                raise TrainerError(
                    f"{name} must be {dtype}, one value per token", got=got, at=_where(position, sequence)
                )
        if shape[0] == 0 or sequence.loss_mask.data[0]:
            raise TrainerError("the first token of a sequence must not be trained", at=_where(position, sequence))
    if sequences:
        tokens = concatenate([sequence.tokens for sequence in sequences])
        if tokens.min() < 0 or tokens.max() >= vocab_size:
            raise TrainerError(f"token ids must lie in [0, {vocab_size})", got=f"{tokens.min()}..{tokens.max()}")


def micro_batch(sequences: Sequence[TrainSequence], device: torch.device) -> MicroBatch:
    """Pad sequences into one micro-batch; none give a smallest one whose mask is zero."""
    lengths = np.array([len(sequence.tokens) for sequence in sequences] or [2])
    longest = max(int(lengths.max()), 2)
    is_token = np.arange(longest) < lengths[:, None]

    def padded(arrays: Sequence[Array], dtype: type) -> np.ndarray:
        values: np.ndarray = np.zeros((len(lengths), longest), dtype)
        if arrays:
            values[is_token] = concatenate(arrays)
        return values

    def column(arrays: Sequence[Array], dtype: type) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(padded(arrays, dtype)[:, 1:])).to(device)

    mask_BT = padded([sequence.loss_mask for sequence in sequences], np.float32)[:, 1:]
    trained_N = np.flatnonzero(mask_BT.T)
    tokens = torch.from_numpy(padded([sequence.tokens for sequence in sequences], np.int64)).to(device)
    has_ref = any(sequence.ref_logprobs is not None for sequence in sequences)
    return MicroBatch(
        tokens_BT=tokens[:, :-1].contiguous(),
        labels_BT=tokens[:, 1:].contiguous(),
        loss_mask_BT=torch.from_numpy(np.ascontiguousarray(mask_BT)).to(device),
        behavior_logprobs_BT=column([sequence.behavior_logprobs for sequence in sequences], np.float32),
        advantages_BT=column([sequence.advantages for sequence in sequences], np.float32),
        current_BT=column([_current(sequence) for sequence in sequences], np.float32),
        ref_logprobs_BT=column([_ref(sequence) for sequence in sequences], np.float32) if has_ref else None,
        trained_N=torch.from_numpy(trained_N if len(trained_N) else np.zeros(1, np.int64)).to(device),
    )


def _current(sequence: TrainSequence) -> Array:
    length = len(sequence.tokens)
    if sequence.staleness is None:
        return Array("uint8", (length,), bytes(length))
    is_current = concatenate([sequence.staleness]) == 0
    return Array("uint8", (length,), is_current.tobytes())


def _ref(sequence: TrainSequence) -> Array:
    if sequence.ref_logprobs is None:
        raise TrainerError("either all sequences of a micro-batch or none must bring reference log-probs")
    return sequence.ref_logprobs


def _where(position: int, sequence: TrainSequence) -> str:
    return f"sequence {position} ({sequence.domain}, episode {sequence.episode})"
