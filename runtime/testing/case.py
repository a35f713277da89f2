"""What a leaf is called with, and what must come of it."""

from collections.abc import Mapping
from typing import Any

import msgspec


class Case(msgspec.Struct, frozen=True):
    """One call.

    Attributes:
        answer: The answer for a verifier (None where the parser refused), the text for a parser.
        arguments: Bound parameters by name.
        gives: What must come of it: of a verifier the signals that matter, by name; else the whole value. Left out:
            anything that the declaration allows.
        task: Fields of the episode's task, for a verifier that asks for them.
        name: Under which messages speak of it.

    Example:
        >>> print(Case("two one", {"expected": "two one"}, {"equal": True}))
        'two one' with {'expected': 'two one'}
    """

    answer: str | None
    arguments: Mapping[str, Any] = {}
    gives: Any = msgspec.UNSET
    task: Mapping[str, Any] = {}
    name: str = ""

    def __str__(self) -> str:
        text = ascii(self.answer)
        short = text if len(text) <= 60 else f"{text[:57]}... ({len(text)} characters)"
        said = f"{short} with {dict(self.arguments)!r}" if self.arguments else short
        return f"{self.name}: {said}" if self.name else said
