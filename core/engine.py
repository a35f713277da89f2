"""Rollout engines: token ids in, token ids and log-probs out.

An engine is polled by its one owner, the rollout worker: `submit` queues, `poll` advances and returns what finished.
Adapters to servers fit the same shape.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from assay.core.array import Array
from assay.core.trajectory import FinishReason, WeightVersion


class Sampling(msgspec.Struct, frozen=True, array_like=True):
    """How tokens are chosen.

    Attributes:
        max_tokens: Most tokens to sample, at least 1.
        temperature: 0 is greedy. Log-probs are those of the distribution that was sampled; greedy ones those of 1.
        top_p: Nucleus mass in (0, 1]; 1 keeps all.
        seed: Of this request alone; the same seed, weights and prompt give the same tokens whatever else runs.
        stop_ids: Tokens that end the sample; the one that did is its last token.
    """

    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 0
    stop_ids: tuple[int, ...] = ()


class GenerateRequest(msgspec.Struct, frozen=True, array_like=True):
    """One completion wanted.

    Attributes:
        request_id: Unique among requests in flight.
        prompt_ids: int32, shape (P,), P >= 1. Requests with a common prefix share its computation.
        sampling: How to choose.
    """

    request_id: int
    prompt_ids: Array
    sampling: Sampling


class Completion(msgspec.Struct, frozen=True, array_like=True):
    """One completion made.

    Attributes:
        request_id: Whose.
        sampled_ids: int32, shape (S,).
        logprobs: Of each sampled token, float32, shape (S,).
        versions: `WeightVersion.pack` per token, int64, shape (S,).
        finish_reason: `stop`, `length` or `aborted`.
    """

    request_id: int
    sampled_ids: Array
    logprobs: Array
    versions: Array
    finish_reason: FinishReason


class Engine(Protocol):
    """One engine; single-threaded, owned by one worker.

    Made as `factory(policy, **options)` with the folder of a policy in Hugging Face layout, its first weights.
    One that takes a `max_context` is given the run's longest sequence.
    """

    @property
    def version(self) -> WeightVersion:
        """Weights that sample the next token."""
        ...

    @property
    def num_active(self) -> int:
        """Requests submitted and not finished."""
        ...

    def submit(self, request: GenerateRequest) -> None:
        """Queue a request.

        Raises:
            EngineError: the prompt is empty, holds unknown tokens or leaves no room for one more.
        """
        ...

    def poll(self, timeout_s: float = 0.0) -> list[Completion]:
        """Advance all active requests a little; return those that finished.

        An embedded engine computes one token for each; an adapter waits up to `timeout_s` for its server.
        """
        ...

    def abort(self, request_id: int) -> None:
        """End a request; what it has comes out of the next `poll` as `aborted`."""
        ...

    def pause(self) -> None:
        """Stop sampling and keep every request where it is."""
        ...

    def resume(self) -> None:
        """Go on."""
        ...

    def update_weights(self, folder: Path, version: WeightVersion) -> None:
        """Take new weights between two tokens; requests in flight go on under them.

        Raises:
            EngineError: the folder does not hold that version whole; the old weights stay.
        """
        ...

    def logprobs(self, sequences: Sequence[Array]) -> list[Array]:
        """Return log-probs of each token after the first; float32, shape (T - 1,) each. The probe after a sync."""
        ...

    def close(self) -> None:
        """Release memory, files and servers."""
        ...
