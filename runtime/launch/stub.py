"""A policy that says what it was told to: for trying a domain without weights.

Its tokens are code points, so that it needs no tokenizer; it is sure of each of them.
"""

from collections.abc import Sequence
from pathlib import Path

from assay.core.array import Array
from assay.core.engine import Completion, GenerateRequest
from assay.core.message import Message
from assay.core.trajectory import FinishReason, WeightVersion

END = 0


class StubChat:
    """Code points and an end token; see `assay.core.chat.ChatFormat`."""

    stop_ids: tuple[int, ...] = (END,)
    pad_id: int = END

    def encode(self, messages: Sequence[Message]) -> Array:
        """Return the code points of all messages."""
        return Array.of([ord(char) for message in messages for char in message.text] or [END], "int32")

    def encode_next(self, messages: Sequence[Message], finish_reason: FinishReason = "stop") -> Array:
        """Return the code points of what came since."""
        return self.encode(messages)

    def encode_completion(self, text: str) -> Array:
        """Return the code points of a completion with its end."""
        return Array.of([*map(ord, text), END], "int32")

    def decode(self, ids: Array) -> str:
        """Return the text of a completion."""
        return "".join(chr(int(code)) for code in ids.to_list() if code != END)


class StubEngine:
    """Answers every request with one text; see `assay.core.engine.Engine`.

    Args:
        answer: What it says.
    """

    def __init__(self, answer: str) -> None:
        self._ids = [*map(ord, answer), END]
        self._requests: list[GenerateRequest] = []
        self._version = WeightVersion(0, 0)

    @property
    def version(self) -> WeightVersion:
        """Weights that sample the next token."""
        return self._version

    @property
    def num_active(self) -> int:
        """Requests submitted and not finished."""
        return len(self._requests)

    def submit(self, request: GenerateRequest) -> None:
        """Queue a request."""
        self._requests.append(request)

    def poll(self, timeout_s: float = 0.0) -> list[Completion]:
        """Finish every request."""
        requests, self._requests = self._requests, []
        return [self._complete(request) for request in requests]

    def abort(self, request_id: int) -> None:
        """Forget a request."""
        self._requests = [request for request in self._requests if request.request_id != request_id]

    def pause(self) -> None:
        """Nothing to stop."""

    def resume(self) -> None:
        """Nothing to go on with."""

    def update_weights(self, folder: Path, version: WeightVersion) -> None:
        """Take the number of new weights."""
        self._version = version

    def logprobs(self, sequences: Sequence[Array]) -> list[Array]:
        """Return zeros."""
        return [Array("float32", (len(ids) - 1,), bytes(4 * (len(ids) - 1))) for ids in sequences]

    def close(self) -> None:
        """Nothing to release."""

    def _complete(self, request: GenerateRequest) -> Completion:
        ids = self._ids[: request.sampling.max_tokens]
        reason: FinishReason = "stop" if ids[-1] == END else "length"
        return Completion(
            request.request_id,
            Array.of(ids, "int32"),
            Array.of([0.0] * len(ids), "float32"),
            Array.of([self._version.pack()] * len(ids), "int64"),
            reason,
        )
