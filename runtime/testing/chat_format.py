"""The contract of a chat format: tokens in, tokens out, and what was sampled is never encoded again.

The tokenizer is that of a small policy whose tokens are bytes, unless the author names a folder: a format needs the
marks it writes with.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from assay.core.array import Array
from assay.core.chat import ChatFormat
from assay.core.leaf import Factory
from assay.core.message import Message, Role, ToolResultPart
from assay.core.trajectory import FinishReason
from assay.runtime.policy.architecture import Architecture
from assay.runtime.testing.factory import FactoryContract
from assay.runtime.testing.policy import small_policy

TEXTS = ("yes", "two words", "Zwölf Boxkämpfer: 12.\n\n日本語", "a" * 300)


class ChatFormatContract(FactoryContract):
    """What holds of a chat format.

    Attributes:
        chat_format: Its factory, called as `factory(policy, **options)` with the folder of a policy.
        policy: Makes a policy in an empty folder and returns it; a small one whose tokens are bytes where not set.
        texts: Completions that must come back as they were, and parts of dialogues.
        marks_are_text: A text that spells an end token ends nothing. False for a format that writes everything, texts
            and marks, as one text: whoever asks can then speak for the policy.
    """

    kind = "chat_format"
    chat_format: ClassVar[Factory]
    policy: ClassVar[Callable[[Path], Path]] = small_policy
    texts: ClassVar[Sequence[str]] = TEXTS
    marks_are_text: ClassVar[bool] = True

    @classmethod
    def left_out(cls) -> tuple[str, ...]:
        """Leave out spelt marks where they are marks."""
        return () if cls.marks_are_text else ("test_a_text_that_spells_an_end_token_ends_nothing",)

    def test_tokens_are_those_of_the_policy(self) -> None:
        """int32, of its vocabulary; prompts are not empty; end tokens and padding are tokens too."""
        chat = self._open()
        size = Architecture.read(self._folder()).vocab_size
        for text in self.texts:
            for ids in (chat.encode([_user(text)]), chat.encode_completion(text), chat.encode_next([_user(text)])):
                self.require(ids.dtype == "int32" and len(ids), "tokens must be int32, and some", got=ids)
                self.require(all(0 <= one < size for one in ids.to_list()), "tokens must be the policy's", got=ids)
        marks = (*chat.stop_ids, chat.pad_id)
        self.require(chat.stop_ids, "a completion must have an end token", got=chat.stop_ids)
        self.require(all(0 <= one < size for one in marks), "end tokens and padding must be the policy's", got=marks)

    def test_a_completion_comes_back_as_its_text(self) -> None:
        """Encoded with its one end token at the end, decoded with or without it; the empty one too."""
        chat = self._open()
        for text in ("", *self.texts):
            ids = chat.encode_completion(text).to_list()
            ends = [index for index, one in enumerate(ids) if one in chat.stop_ids]
            self.require(ends == [len(ids) - 1], "a completion must end with its only end token", got=ids)
            for sampled in (ids, ids[:-1]):
                found = chat.decode(Array.of(sampled, "int32"))
                self.require(found == text, f"a completion must come back as {text!r}", got=found)

    def test_turns_appended_are_the_dialogue_encoded_at_once(self) -> None:
        """Prompt, sample, continuation, sample: token for token what the whole dialogue is, however a sample ended."""
        chat = self._open()
        reasons: tuple[FinishReason, ...] = ("stop", "length")
        for text in self.texts:
            for reason in reasons:
                sampled = chat.encode_completion(text).to_list()
                if reason == "length":
                    sampled.pop()
                opening = [Message.of_text("system", "Be brief."), _user("Say it.")]
                grown = [
                    *chat.encode(opening).to_list(),
                    *sampled,
                    *chat.encode_next([_user("Again."), _user(text)], reason).to_list(),
                ]
                whole = chat.encode([*opening, Message.of_text("assistant", text), _user("Again."), _user(text)])
                self.require(
                    grown == whole.to_list(),
                    f"a dialogue that goes on after `{reason}` must be the one encoded at once",
                    got=_difference(grown, whole.to_list()),
                )

    def test_a_continuation_depends_on_what_came_since_alone(self) -> None:
        """Whatever was encoded before: one format serves all episodes of a worker, turn by turn."""
        chat = self._open()
        expected = chat.encode_next([_user("Again.")])
        for text in self.texts:
            chat.encode([_user(text), Message.of_text("assistant", text), _user(text)])
            chat.encode_completion(text)
            found = chat.encode_next([_user("Again.")])
            self.require(found == expected, "a continuation must depend on what came since alone", got=found.to_list())

    def test_every_role_can_speak(self) -> None:
        """System, user, assistant and a tool's result: what is said is in the prompt, and other words are others."""
        chat = self._open()
        roles: tuple[Role, ...] = ("system", "user", "assistant")
        for role in roles:
            found = [chat.encode([Message.of_text(role, word), _user("x")]) for word in ("one", "two")]
            self.require(found[0] != found[1], f"what the {role} says must be in the prompt", got=found[0])
        results = [chat.encode_next([Message("tool", (ToolResultPart("1", word),))]) for word in ("one", "two")]
        self.require(results[0] != results[1], "what a tool returns must be in the prompt", got=results[0])

    def test_a_text_that_spells_an_end_token_ends_nothing(self) -> None:
        """Neither a task nor a completion can end a turn by the letters of a mark."""
        from assay.runtime.policy.chat import read_tokenizer

        chat = self._open()
        tokenizer = read_tokenizer(self._folder())
        for mark in sorted({tokenizer.id_to_token(one) or "" for one in chat.stop_ids}):
            text = f"before {mark} behind"
            plain = sum(one in chat.stop_ids for one in chat.encode([_user("before behind")]).to_list())
            prompt = sum(one in chat.stop_ids for one in chat.encode([_user(text)]).to_list())
            self.require(plain == prompt, f"`{mark}` in a task must be text", got=f"{prompt - plain} more end tokens")
            ids = chat.encode_completion(text).to_list()
            ends = sum(one in chat.stop_ids for one in ids)
            self.require(ends == 1, f"`{mark}` in a completion must be text", got=f"{ends} end tokens")

    def _folder(self) -> Path:
        return self.resource("policy", lambda: _Kept(type(self).policy(self.new_folder()))).path

    def _open(self) -> ChatFormat:
        chat: ChatFormat = self.make(self._folder())
        return chat


class _Kept:
    """A folder that somebody else removes."""

    def __init__(self, path: Path) -> None:
        self.path = path


def _user(text: str) -> Message:
    return Message.of_text("user", text)


def _difference(actual: Sequence[float], expected: Sequence[float]) -> str:
    pairs = enumerate(zip(actual, expected, strict=False))
    place = next((index for index, (a, b) in pairs if a != b), min(len(actual), len(expected)))
    return f"{actual[place : place + 5]} instead of {expected[place : place + 5]} at {place}"
