from collections.abc import Callable

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from assay.core.array import Array
from assay.core.error import TrainerError
from assay.core.trainer import TrainSequence
from assay.runtime.trainer.batch import check_sequences, micro_batch, pack, share

lengths = st.lists(st.integers(1, 60), max_size=40)
CPU = torch.device("cpu")


@given(lengths, st.integers(1, 300))
def test_every_sequence_is_in_one_micro_batch_and_none_is_too_large(values: list[int], micro_tokens: int) -> None:
    packs = pack(values, micro_tokens)
    assert list(range(len(values))) == sorted(index for indices in packs for index in indices)
    for indices in packs:
        padded = len(indices) * max(values[index] for index in indices)
        assert padded <= micro_tokens or len(indices) == 1


def test_batch_that_fits_is_one_micro_batch() -> None:
    assert 1 == len(pack([9, 13, 11, 12], 4 * 13))
    assert 2 == len(pack([9, 13, 11, 12], 4 * 13 - 1))


@given(lengths, st.integers(1, 4))
def test_shares_hold_every_sequence_once_and_differ_by_one_sequence_at_most(values: list[int], size: int) -> None:
    shares = share(values, size)
    assert list(range(len(values))) == sorted(index for indices in shares for index in indices)
    totals = [sum(values[index] for index in indices) for indices in shares]
    assert max(totals) - min(totals) <= max(values, default=0)


def test_position_holds_the_label_and_facts_of_the_next_token() -> None:
    sequence = TrainSequence(
        tokens=Array.of([5, 6, 7], "int32"),
        loss_mask=Array.of([0, 0, 1], "uint8"),
        behavior_logprobs=Array.of([0.0, 0.0, -0.5], "float32"),
        advantages=Array.of([0.0, 0.0, 2.0], "float32"),
        domain="demo",
        staleness=Array.of([9, 9, 0], "int32"),
    )
    longer = TrainSequence(
        tokens=Array.of([1, 2, 3, 4], "int32"),
        loss_mask=Array.of([0, 1, 1, 1], "uint8"),
        behavior_logprobs=Array.of([0.0, -1.0, -1.0, -1.0], "float32"),
        advantages=Array.of([0.0, 1.0, 1.0, 1.0], "float32"),
        domain="demo",
    )
    batch = micro_batch([sequence, longer], CPU)
    assert [[5, 6, 7], [1, 2, 3]] == batch.tokens_BT.tolist()
    assert [[6, 7, 0], [2, 3, 4]] == batch.labels_BT.tolist()
    assert [[0, 1, 0], [1, 1, 1]] == batch.loss_mask_BT.tolist()
    assert [[0, -0.5, 0], [-1, -1, -1]] == batch.behavior_logprobs_BT.tolist()
    assert [[0, 2, 0], [1, 1, 1]] == batch.advantages_BT.tolist()
    assert [[0, 1, 0], [0, 0, 0]] == batch.current_BT.tolist()
    assert batch.ref_logprobs_BT is None
    assert [1, 2, 3, 5] == batch.trained_N.tolist()


def test_filler_trains_nothing() -> None:
    filler = micro_batch((), CPU)
    assert 0.0 == float(filler.loss_mask_BT.sum())
    assert [0] == filler.trained_N.tolist()


def test_reference_log_probs_come_with_all_sequences_or_none(make_batch: Callable[..., list[TrainSequence]]) -> None:
    first, second = make_batch(number=2)
    with_ref = msgspec.structs.replace(first, ref_logprobs=first.behavior_logprobs)
    with pytest.raises(TrainerError, match="all sequences"):
        micro_batch([with_ref, second], CPU)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"advantages": Array.of([1.0], "float32")}, "one value per token"),
        ({"staleness": Array.of([1], "int32")}, "one value per token"),
        ({"advantages": Array.of([0.0, 1.0, 1.0], "float64")}, "advantages must be float32"),
        ({"tokens": Array("int32", (3,), bytes(8))}, "one value per token"),
        ({"loss_mask": Array.of([1, 1, 1], "uint8")}, "first token"),
        ({"tokens": Array.of([1, 2, 99], "int32")}, r"\[0, 20\)"),
        ({"tokens": Array.of([1, 2, -1], "int32")}, r"\[0, 20\)"),
    ],
)
def test_malformed_sequence_is_refused(change: dict[str, Array], message: str) -> None:
    sequence = TrainSequence(
        tokens=Array.of([1, 2, 3], "int32"),
        loss_mask=Array.of([0, 1, 1], "uint8"),
        behavior_logprobs=Array.of([0.0, 0.0, 0.0], "float32"),
        advantages=Array.of([0.0, 1.0, 1.0], "float32"),
        domain="demo",
        episode=7,
    )
    check_sequences([sequence], 20)
    with pytest.raises(TrainerError, match=message):
        check_sequences([msgspec.structs.replace(sequence, **change)], 20)
