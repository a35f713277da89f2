"""Chat formats: from messages to the token ids a policy is given, and from what it sampled back to text.

What was sampled is what is trained: a later turn never encodes an earlier one again. A factory is called with the
folder of the policy and returns a `ChatFormat`; it raises `ConfigError` where the tokenizer lacks what it needs.
"""

from collections.abc import Sequence
from typing import Protocol

from assay.core.array import Array
from assay.core.message import Message
from assay.core.trajectory import FinishReason


class ChatFormat(Protocol):
    """One chat format of one policy.

    Attributes:
        stop_ids: Tokens that end a completion.
        pad_id: A token to pad with; never seen by the policy.
    """

    stop_ids: tuple[int, ...]
    pad_id: int

    def encode(self, messages: Sequence[Message]) -> Array:
        """Return the prompt that asks for the next message of the assistant; int32, shape (P,)."""
        ...

    def encode_next(self, messages: Sequence[Message], finish_reason: FinishReason = "stop") -> Array:
        """Return the tokens that follow the policy's own last sample, up to its next one.

        Args:
            messages: What came since that sample.
            finish_reason: How it ended; where it did not end by itself, its end is supplied.
        """
        ...

    def encode_completion(self, text: str) -> Array:
        """Return the tokens of a completion with its end; int32, shape (S,). For demonstrations."""
        ...

    def decode(self, ids: Array) -> str:
        """Return the text of a sampled completion, without its end token."""
        ...
