"""Trajectories: what one episode said, token by token, as a tree of segments.

A segment is one sampled stretch after one prompt. One episode may hold several (turns, branches, compaction,
sub-agents); each leads to one training sequence. What was sampled is what is trained: token ids and log-probs are those
of the engine, never re-encoded text.
"""

from typing import Literal

import msgspec

from assay.core.array import Array
from assay.core.message import Message
from assay.core.task import TaskRef

FinishReason = Literal["stop", "length", "aborted"]


class WeightVersion(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Which weights: a trainer that falls back to a checkpoint opens a new lineage.

    Attributes:
        lineage: Counts restarts of the trainer from a checkpoint.
        step: Optimizer steps since the run's first.
    """

    lineage: int
    step: int

    def pack(self) -> int:
        """Return the version as one int64."""
        return self.lineage << 40 | self.step

    @classmethod
    def unpack(cls, value: int) -> "WeightVersion":
        """Undo `pack`."""
        return cls(value >> 40, value & (1 << 40) - 1)

    def __str__(self) -> str:
        return f"{self.lineage}.{self.step}"


class Segment(msgspec.Struct, frozen=True, array_like=True):
    """One sampled stretch.

    Attributes:
        parent: Index of the segment whose prompt and sample precede this prompt; None for a root.
        prompt_ids: Tokens given to the policy after the parent's; int32, shape (P,).
        sampled_ids: Tokens the policy sampled; int32, shape (S,).
        loss_mask: 1 where a sampled token is trained; uint8, shape (S,).
        behavior_logprobs: Log-probability of each sampled token when sampled; float32, shape (S,).
        versions: `WeightVersion.pack` of the weights that sampled each token; int64, shape (S,).
        finish_reason: `length` is truncated, which is not failed.
    """

    parent: int | None
    prompt_ids: Array
    sampled_ids: Array
    loss_mask: Array
    behavior_logprobs: Array
    versions: Array
    finish_reason: FinishReason


class Turn(msgspec.Struct, frozen=True, array_like=True):
    """Prompt, completion and the segment that holds its tokens."""

    prompt: tuple[Message, ...]
    completion: Message
    segment: int


class Trace(msgspec.Struct, frozen=True, array_like=True):
    """What the runtime counted; the signals `trace.*` of the language.

    Attributes:
        turns: Completions sampled.
        tokens: Tokens sampled.
        prompt_tokens: Tokens given.
        tool_calls: Calls asked for.
        invalid_calls: Calls that did not parse or named no tool.
        truncated: A limit on turns or tokens ended the episode.
        parsed: The domain's answer parser accepted the final text.
        wall_s: Seconds from first token to last; not deterministic.
    """

    turns: int
    tokens: int
    prompt_tokens: int
    tool_calls: int = 0
    invalid_calls: int = 0
    truncated: bool = False
    parsed: bool = True
    wall_s: float = 0.0


class Trajectory(msgspec.Struct, frozen=True, array_like=True):
    """One episode played.

    Attributes:
        episode: Its number in the ledger.
        task: Which task.
        seed: Seed of the sampler; a re-run keeps it.
        segments: A tree, parents before children.
        turns: In order.
        final_text: Text of the last completion.
        answer: What the answer parser read; the final text where the domain has no parser; None where it refused.
        trace: Counters.
    """

    episode: int
    task: TaskRef
    seed: int
    segments: tuple[Segment, ...]
    turns: tuple[Turn, ...]
    final_text: str
    answer: str | None
    trace: Trace
