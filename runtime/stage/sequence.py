"""From what the store holds to training sequences: one per path from a root segment to a leaf."""

from collections.abc import Iterator, Sequence

import numpy as np

from assay.core.array import Array
from assay.core.chat import ChatFormat
from assay.core.task import Demonstration
from assay.core.trainer import TrainSequence
from assay.core.trajectory import Segment, Trajectory, WeightVersion
from assay.dsl.program import Program
from assay.runtime.stage.prompt import opening


def trajectory_sequences(
    trajectory: Trajectory, domain: str, advantage: float, version: WeightVersion
) -> Iterator[TrainSequence]:
    """Yield the training sequences of an episode.

    A sampled token that several paths share is trained once, in the first of them.

    Args:
        trajectory: With at least one segment.
        domain: Name of the mix entry.
        advantage: Of the episode; every trained token gets it.
        version: Weights that are trained, before the update.
    """
    parents = {segment.parent for segment in trajectory.segments}
    seen: set[int] = set()
    for leaf in range(len(trajectory.segments)):
        if leaf in parents:
            continue
        path = _path(trajectory.segments, leaf)
        yield _sequence(trajectory, path, seen, domain, advantage, version)
        seen.update(path)


def demonstration_sequence(
    demonstration: Demonstration, program: Program, chat: ChatFormat, domain: str
) -> TrainSequence:
    """Return a demonstration as a sequence whose completion is trained."""
    prompt = chat.encode(opening(program, demonstration.task.fields))
    completion = chat.encode_completion(demonstration.completion)
    num_prompt, num_completion = len(prompt), len(completion)
    total = num_prompt + num_completion
    ones = np.zeros(total, np.float32)
    ones[num_prompt:] = 1.0
    return TrainSequence(
        tokens=Array("int32", (total,), prompt.data + completion.data),
        loss_mask=Array("uint8", (total,), bytes(num_prompt) + b"\x01" * num_completion),
        behavior_logprobs=Array("float32", (total,), bytes(4 * total)),
        advantages=Array("float32", (total,), ones.tobytes()),
        domain=domain,
    )


def _path(segments: Sequence[Segment], leaf: int) -> list[int]:
    path = [leaf]
    while (parent := segments[path[-1]].parent) is not None:
        path.append(parent)
    return path[::-1]


def _sequence(
    trajectory: Trajectory, path: list[int], seen: set[int], domain: str, advantage: float, version: WeightVersion
) -> TrainSequence:
    tokens, masks, logprobs, staleness = [], [], [], []
    for index in path:
        segment = trajectory.segments[index]
        num_prompt, num_sampled = len(segment.prompt_ids), len(segment.sampled_ids)
        mask = bytes(num_sampled) if index in seen else segment.loss_mask.data
        tokens.append(segment.prompt_ids.data + segment.sampled_ids.data)
        masks.append(bytes(num_prompt) + mask)
        logprobs += [np.zeros(num_prompt, "<f4"), np.frombuffer(segment.behavior_logprobs.data, "<f4")]
        steps = [_staleness(WeightVersion.unpack(int(packed)), version) for packed in segment.versions.to_list()]
        staleness += [np.zeros(num_prompt, "<i4"), np.array(steps, "<i4")]
    mask_T = np.frombuffer(b"".join(masks), "u1")
    total = len(mask_T)
    # A token rests on keys and values of everything before it: it is no fresher than the oldest of them.
    staleness_T = np.maximum.accumulate(np.concatenate(staleness)).astype("<i4")
    logprobs_T = np.where(mask_T == 1, np.concatenate(logprobs), 0).astype("<f4")
    return TrainSequence(
        tokens=Array("int32", (total,), b"".join(tokens)),
        loss_mask=Array("uint8", (total,), mask_T.tobytes()),
        behavior_logprobs=Array("float32", (total,), logprobs_T.tobytes()),
        advantages=Array("float32", (total,), (mask_T * np.float32(advantage)).astype("<f4").tobytes()),
        domain=domain,
        episode=trajectory.episode,
        staleness=Array("int32", (total,), staleness_T.tobytes()),
    )


def _staleness(sampled: WeightVersion, trained: WeightVersion) -> int:
    # A step of another lineage may have the same number and other weights: it is never current.
    behind = trained.step - sampled.step
    return behind if sampled.lineage == trained.lineage else max(1, behind)
