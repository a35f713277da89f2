"""An Assay chat format: every message says who speaks.

    <user>What is 2 + 2?[sep]<assistant>4[end]

The words in angle brackets are text, so that any tokenizer has them; what ends a message is a token that no text can
spell. A task that says `<assistant>` therefore never speaks for the policy.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import assay
from assay.core.array import Array
from assay.core.error import ConfigError
from assay.core.leaf import Factory
from assay.core.message import Message, ToolResultPart
from assay.core.trajectory import FinishReason


class TaggedChat:
    """See `assay.core.chat.ChatFormat`.

    Args:
        folder: Of the policy; its tokenizer names a `sep_token` and an `eos_token`.

    Raises:
        ConfigError: it does not.
    """

    def __init__(self, folder: Path) -> None:
        from assay.runtime.policy.chat import read_tokenizer

        self._tokenizer = read_tokenizer(folder)
        self._tokenizer.encode_special_tokens = True
        marks = json.loads((folder / "tokenizer_config.json").read_bytes())
        separator, end = (self._tokenizer.token_to_id(str(marks.get(key))) for key in ("sep_token", "eos_token"))
        if separator is None or end is None:
            raise ConfigError("the format `tagged` needs a sep_token and an eos_token", at=folder)
        self._separator, self._end = separator, end
        self.stop_ids: tuple[int, ...] = (self._end,)
        self.pad_id: int = self._end

    def encode(self, messages: Sequence[Message]) -> Array:
        """Return the prompt that asks for the next message of the assistant."""
        ids: list[int] = []
        for message in messages:
            end = self._end if message.role == "assistant" else self._separator
            ids += [*self._ids(f"<{message.role}>"), *self._ids(_text(message)), end]
        return Array.of([*ids, *self._ids("<assistant>")], "int32")

    def encode_next(self, messages: Sequence[Message], finish_reason: FinishReason = "stop") -> Array:
        """Return the tokens between the policy's last sample and its next one."""
        missing = [] if finish_reason == "stop" else [self._end]
        return Array.of([*missing, *self.encode(messages).to_list()], "int32")

    def encode_completion(self, text: str) -> Array:
        """Return the tokens of a completion with its end."""
        return Array.of([*self._ids(text), self._end], "int32")

    def decode(self, ids: Array) -> str:
        """Return the text of a completion, without its end."""
        tokens = [int(one) for one in ids.to_list()]
        if tokens and tokens[-1] == self._end:
            tokens.pop()
        return self._tokenizer.decode(tokens, skip_special_tokens=True)

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids


def _text(message: Message) -> str:
    results = [part.text for part in message.parts if isinstance(part, ToolResultPart)]
    return "\n".join(filter(None, [message.text, *results]))


TAGGED = Factory("tagged", TaggedChat, "Every message begins with who speaks.")


@assay.hookimpl
def assay_chat_formats() -> Sequence[Factory]:
    """Offer `tagged`."""
    return (TAGGED,)
