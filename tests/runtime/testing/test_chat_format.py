"""Every clause of the contract of chat formats turns red for a format that breaks it."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from red import breaks

from assay.core.array import Array
from assay.core.message import Message
from assay.core.trajectory import FinishReason
from assay.runtime.policy.chat import PlainChat
from assay.runtime.testing.chat_format import ChatFormatContract


class Foreign(PlainChat):
    """Has an end token that the policy does not know."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.pad_id = 100_000


class Endless(PlainChat):
    """Leaves the end of a completion to others."""

    def encode_completion(self, text: str) -> Array:
        return Array.of(self._ids(text), "int32")


class Stripping(PlainChat):
    """Tidies what was sampled."""

    def decode(self, ids: Array) -> str:
        return " ".join(super().decode(ids).split())


class Open(PlainChat):
    """Does not end a sample that ran out of room."""

    def encode_next(self, messages: Sequence[Message], finish_reason: FinishReason = "stop") -> Array:
        return super().encode_next(messages)


class Remembering(PlainChat):
    """Repeats the completion it saw last."""

    last: tuple[int, ...] = ()

    def encode_completion(self, text: str) -> Array:
        found = super().encode_completion(text)
        self.last = tuple(int(one) for one in found.to_list()[:1])
        return found

    def encode_next(self, messages: Sequence[Message], finish_reason: FinishReason = "stop") -> Array:
        return Array.of([*self.last, *super().encode_next(messages, finish_reason).to_list()], "int32")


class Unruled(PlainChat):
    """Does not hear the system."""

    def encode(self, messages: Sequence[Message]) -> Array:
        return super().encode([message for message in messages if message.role != "system"])


class Forgeable(PlainChat):
    """Takes letters for marks."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._tokenizer.encode_special_tokens = False


RED = [
    ("test_tokens_are_those_of_the_policy", Foreign, "end tokens and padding must be the policy's"),
    ("test_a_completion_comes_back_as_its_text", Endless, "a completion must end with its only end token"),
    ("test_a_completion_comes_back_as_its_text", Stripping, "a completion must come back as"),
    ("test_turns_appended_are_the_dialogue_encoded_at_once", Open, "a dialogue that goes on after `length` must be"),
    ("test_a_continuation_depends_on_what_came_since_alone", Remembering, "a continuation must depend on what came"),
    ("test_every_role_can_speak", Unruled, "what the system says must be in the prompt"),
    ("test_a_text_that_spells_an_end_token_ends_nothing", Forgeable, "`[end]` in a task must be text"),
]


@pytest.mark.parametrize(("clause", "wrong", "must"), RED, ids=[one[1].__name__ for one in RED])
def test_wrong_format_breaks_its_clause(clause: str, wrong: type, must: str) -> None:
    assert breaks(ChatFormatContract, clause, wrong).startswith(must)
