"""Chat formats: from messages to the token ids a policy is given, and from what it sampled back to text.

What was sampled is what is trained, so a later turn never re-encodes an earlier one: `encode_next` gives only the
tokens that follow the policy's own. `ChatFormat` says what all formats promise. Needs `tokenizers`; transformers is
imported only to render a template.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from assay.core.array import Array
from assay.core.chat import ChatFormat
from assay.core.error import ConfigError
from assay.core.message import Message, ToolResultPart
from assay.core.registry import resolve
from assay.core.trajectory import FinishReason
from assay.runtime.policy.choice import chat_name, read_json


class PlainChat:
    """Texts, a separator, the completion, an end token. Roles are not marked.

    Args:
        folder: Of the policy; its tokenizer has a separator and an end token.
    """

    name = "plain"

    def __init__(self, folder: Path) -> None:
        self._tokenizer = read_tokenizer(folder)
        # A task whose text holds "[end]" must not end the turn.
        self._tokenizer.encode_special_tokens = True
        marks = read_json(Path(folder) / "assay.json") | read_json(Path(folder) / "tokenizer_config.json")
        self._separator = self._id(marks.get("separator") or marks.get("sep_token"), "sep_token", folder)
        self._end = self._id(marks.get("eos_token"), "eos_token", folder)
        self.stop_ids: tuple[int, ...] = (self._end,)
        pad = marks.get("pad_token")
        self.pad_id = self._end if pad is None else self._id(pad, "pad_token", folder)

    def encode(self, messages: Sequence[Message]) -> Array:
        """See `ChatFormat`; a completion among the messages is encoded from its text."""
        ids: list[int] = []
        for index, message in enumerate(messages):
            ids += self._ids(_text(message))
            if message.role == "assistant":
                ids.append(self._end)
            elif index + 1 == len(messages) or messages[index + 1].role == "assistant":
                ids.append(self._separator)
        return Array.of(ids, "int32")

    def encode_next(self, messages: Sequence[Message], finish_reason: FinishReason = "stop") -> Array:
        """See `ChatFormat`."""
        ids = [] if finish_reason == "stop" else [self._end]
        return Array.of([*ids, *self.encode(messages).to_list()], "int32")

    def encode_completion(self, text: str) -> Array:
        """See `ChatFormat`."""
        return Array.of([*self._ids(text), self._end], "int32")

    def decode(self, ids: Array) -> str:
        """See `ChatFormat`."""
        return _decode(self._tokenizer, ids, self.stop_ids)

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def _id(self, token: str | dict[str, Any] | None, key: str, folder: Path) -> int:
        text = token.get("content") if isinstance(token, dict) else token
        found = None if text is None else self._tokenizer.token_to_id(text)
        if found is None:
            raise ConfigError(
                f"the plain chat format needs a {key}", got=text, at=Path(folder) / "tokenizer_config.json"
            )
        return found


class TemplateChat:
    """The chat template that comes with the tokenizer.

    Args:
        folder: Of the policy.
    """

    name = "template"

    def __init__(self, folder: Path) -> None:
        from transformers import AutoTokenizer

        self._tokenizer = read_tokenizer(folder)
        self._template: Any = AutoTokenizer.from_pretrained(folder)
        if not getattr(self._template, "chat_template", None):
            raise ConfigError("the template chat format needs a chat template", at=folder, todo="Use the plain one")
        self.stop_ids = read_stop_ids(folder)
        self._end = self._tokenizer.id_to_token(self.stop_ids[0]) or ""
        pad = self._template.pad_token_id
        self.pad_id = self.stop_ids[0] if pad is None else pad

    def encode(self, messages: Sequence[Message]) -> Array:
        """See `ChatFormat`."""
        return self._encode(self._render([_plain(message) for message in messages], is_prompt=True))

    def encode_next(self, messages: Sequence[Message], finish_reason: FinishReason = "stop") -> Array:
        """See `ChatFormat`; what the template writes between a completion's end and its next prompt.

        Raises:
            ConfigError: the template renders a dialogue otherwise once it goes on, so no turn can be appended.
        """
        before = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
        head = self._render(before, is_prompt=False)
        whole = self._render([*before, *(_plain(message) for message in messages)], is_prompt=True)
        cut = head.rfind(self._end)
        if not self._end or cut < 0 or not whole.startswith(head):
            raise ConfigError("a chat template must append turns without changing earlier ones", at="chat_template")
        return self._encode(whole[cut + (len(self._end) if finish_reason == "stop" else 0) :])

    def encode_completion(self, text: str) -> Array:
        """See `ChatFormat`."""
        return self._encode(text + self._end)

    def decode(self, ids: Array) -> str:
        """See `ChatFormat`."""
        return _decode(self._tokenizer, ids, self.stop_ids)

    def _render(self, messages: list[dict[str, str]], is_prompt: bool) -> str:
        text = self._template.apply_chat_template(messages, tokenize=False, add_generation_prompt=is_prompt)
        return str(text)

    def _encode(self, text: str) -> Array:
        return Array.of(self._tokenizer.encode(text, add_special_tokens=False).ids, "int32")


def read_chat(folder: Path, name: str | None = None, ref: str | None = None) -> ChatFormat:
    """Return the chat format of a policy.

    Args:
        folder: Of the policy.
        name: One of the built-in formats; None for the one that the folder names, or the likely one.
        ref: `dist:version:module:attribute` of a format, as a plan holds it; then nothing else decides.

    Raises:
        ConfigError: an unknown name, or a tokenizer that lacks what the format needs.
        PluginError: the reference leads nowhere in this process.
    """
    folder = Path(folder)
    if ref is not None:
        chat: ChatFormat = resolve(ref)(folder)
        return chat
    name = chat_name(folder, name)
    formats: dict[str, type[PlainChat] | type[TemplateChat]] = {"plain": PlainChat, "template": TemplateChat}
    if name not in formats:
        todo = "A format of a package is found by the plan of a run"
        raise ConfigError("chat format must be plain or template", got=name, at=folder, todo=todo)
    return formats[name](folder)


def read_tokenizer(folder: Path) -> Tokenizer:
    """Read `tokenizer.json`.

    Raises:
        ConfigError: it is missing or broken.
    """
    path = Path(folder) / "tokenizer.json"
    if not path.exists():
        raise ConfigError("a policy folder must have a tokenizer.json", at=path)
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ConfigError("tokenizer.json must be readable", got=error, at=path) from None


def read_stop_ids(folder: Path) -> tuple[int, ...]:
    """Return the tokens that end a completion, as `generation_config.json` or `config.json` say.

    Raises:
        ConfigError: neither says.
    """
    for name in ("generation_config.json", "config.json"):
        found = read_json(Path(folder) / name).get("eos_token_id")
        if found is not None:
            return tuple(found) if isinstance(found, list) else (found,)
    raise ConfigError("a policy must name its end token", at=folder, todo="Put eos_token_id in generation_config.json")


def _text(message: Message) -> str:
    results = [part.text for part in message.parts if isinstance(part, ToolResultPart)]
    return "\n".join(filter(None, [message.text, *results]))


def _plain(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": _text(message)}


def _decode(tokenizer: Tokenizer, ids: Array, stop_ids: tuple[int, ...]) -> str:
    tokens = [int(token) for token in ids.to_list()]
    if tokens and tokens[-1] in stop_ids:
        tokens.pop()
    return tokenizer.decode(tokens, skip_special_tokens=True)
