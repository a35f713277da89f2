"""The embedded engine, slowed down to so many tokens per second, and a meter that says how many there were.

What it samples is what the embedded engine samples, at another time.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from assay.core.array import Array
from assay.core.engine import Completion, Engine, GenerateRequest
from assay.core.error import EngineError
from assay.core.trajectory import WeightVersion
from assay.runtime.engine.embedded import EmbeddedEngine


class MeteredEngine:
    """See `assay.core.engine.Engine`.

    Args:
        policy: Hugging Face folder.
        max_context: Most tokens of prompt and sample.
        max_active: Most requests that sample at once.
        tokens_per_s: Most sampled tokens per second, over all requests; 0 for no limit.

    Attributes:
        num_requests: Finished requests.
        num_prompt_tokens: Of those that were submitted.
        num_sampled_tokens: Of finished requests.
        waited_s: Slept to keep the limit.
    """

    def __init__(
        self, policy: Path, *, max_context: int | None = None, max_active: int = 256, tokens_per_s: float = 0.0
    ) -> None:
        if tokens_per_s < 0:
            raise EngineError("tokens_per_s must be at least 0", got=tokens_per_s, todo="Set engine.tokens_per_s")
        self._inner: Engine = EmbeddedEngine(policy, max_context=max_context, max_active=max_active)
        self._max_active, self._tokens_per_s, self._free_from_s = max_active, tokens_per_s, 0.0
        self._is_paused = False
        self.num_requests = self.num_prompt_tokens = self.num_sampled_tokens = 0
        self.waited_s = 0.0

    @property
    def version(self) -> WeightVersion:
        """Weights that sample the next token."""
        return self._inner.version

    @property
    def num_active(self) -> int:
        """Requests submitted and not finished."""
        return self._inner.num_active

    def submit(self, request: GenerateRequest) -> None:
        """Queue a request."""
        self._inner.submit(request)
        self.num_prompt_tokens += len(request.prompt_ids)

    def poll(self, timeout_s: float = 0.0) -> list[Completion]:
        """Give one token to every request, once the tokens before are paid for."""
        now_s = time.monotonic()
        if now_s < self._free_from_s and not self._is_paused:
            time.sleep(self._free_from_s - now_s)
            self.waited_s += self._free_from_s - now_s
        if self._tokens_per_s and not self._is_paused:
            num_tokens = min(self.num_active, self._max_active)
            self._free_from_s = time.monotonic() + num_tokens / self._tokens_per_s
        done = self._inner.poll(timeout_s)
        self.num_requests += len(done)
        self.num_sampled_tokens += sum(len(one.sampled_ids) for one in done)
        return done

    def abort(self, request_id: int) -> None:
        """End a request."""
        self._inner.abort(request_id)

    def pause(self) -> None:
        """Stop sampling."""
        self._is_paused = True
        self._inner.pause()

    def resume(self) -> None:
        """Go on."""
        self._is_paused = False
        self._inner.resume()

    def update_weights(self, folder: Path, version: WeightVersion) -> None:
        """Take new weights between two tokens."""
        self._inner.update_weights(folder, version)

    def logprobs(self, sequences: Sequence[Array]) -> list[Array]:
        """Return log-probs of each token after the first; they are not metered."""
        return self._inner.logprobs(sequences)

    def close(self) -> None:
        """Say what the meter says, in the log of the worker, and release everything."""
        print(
            f"metered: {self.num_requests} requests, {self.num_prompt_tokens} prompt tokens, "
            f"{self.num_sampled_tokens} sampled tokens, waited {self.waited_s:.1f} s",
            file=sys.stderr,
            flush=True,
        )
        self._inner.close()
