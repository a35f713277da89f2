"""Training sequences: what was sampled, once, with what is known of it."""

from assay.core.array import Array
from assay.core.message import Message
from assay.core.task import TaskRef
from assay.core.trajectory import Segment, Trace, Trajectory, Turn, WeightVersion
from assay.runtime.stage.sequence import trajectory_sequences


def segment(parent: int | None, prompt: list[int], sampled: list[int], steps: list[int], lineage: int = 0) -> Segment:
    return Segment(
        parent,
        Array.of(prompt, "int32"),
        Array.of(sampled, "int32"),
        Array("uint8", (len(sampled),), b"\x01" * len(sampled)),
        Array.of([-0.5] * len(sampled), "float32"),
        Array.of([WeightVersion(lineage, step).pack() for step in steps], "int64"),
        "stop",
    )


def trajectory(*segments: Segment) -> Trajectory:
    turn = Turn((Message.of_text("user", "x"),), Message.of_text("assistant", "y"), 0)
    return Trajectory(7, TaskRef("s", "train", 0), 1, segments, (turn,), "y", "y", Trace(1, 1, 1))


def test_prompt_is_not_trained_and_what_was_sampled_is() -> None:
    (sequence,) = trajectory_sequences(
        trajectory(segment(None, [1, 2], [3, 4, 5], [9, 9, 9])), "d", 0.5, WeightVersion(0, 10)
    )
    assert [1, 2, 3, 4, 5] == sequence.tokens.to_list()
    assert [0, 0, 1, 1, 1] == list(sequence.loss_mask.data)
    assert [0.0, 0.0, 0.5, 0.5, 0.5] == sequence.advantages.to_list()
    assert [0.0, 0.0, -0.5, -0.5, -0.5] == sequence.behavior_logprobs.to_list()
    assert 7 == sequence.episode


def test_token_is_no_fresher_than_what_it_rests_on() -> None:
    (sequence,) = trajectory_sequences(
        trajectory(segment(None, [1], [2, 3, 4], [8, 10, 10])), "d", 1.0, WeightVersion(0, 10)
    )
    assert sequence.staleness is not None
    assert [0, 2, 2, 2] == sequence.staleness.to_list()


def test_same_step_of_another_lineage_is_not_current() -> None:
    (sequence,) = trajectory_sequences(
        trajectory(segment(None, [1], [2], [10], lineage=0)), "d", 1.0, WeightVersion(1, 10)
    )
    assert sequence.staleness is not None
    assert [0, 1] == sequence.staleness.to_list()


def test_tokens_that_branches_share_are_trained_once() -> None:
    root = segment(None, [1], [2, 3], [5, 5])
    left, right = segment(0, [4], [5], [5]), segment(0, [6], [7], [5])
    first, second = trajectory_sequences(trajectory(root, left, right), "d", 1.0, WeightVersion(0, 5))
    assert [1, 2, 3, 4, 5] == first.tokens.to_list()
    assert [1, 2, 3, 6, 7] == second.tokens.to_list()
    assert [0, 1, 1, 0, 1] == list(first.loss_mask.data)
    assert [0, 0, 0, 0, 1] == list(second.loss_mask.data)
    assert [0.0, 0.0, 0.0, 0.0, 1.0] == second.advantages.to_list()
