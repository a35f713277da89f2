"""A recipe: everything this package knows about one domain."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Entry = Mapping[str, Any]
"""What a generator returns: `question`, `answer` and `metadata`."""


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        question: What goes into the prompt.
        expected: The right answer, or one of them.
        key: What decides the split; tasks that share the thing to be learnt by heart share the key.
        habits: Wrong answers of demonstrations, the main one first.
    """

    question: str
    expected: str
    key: str
    habits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """One domain.

    Attributes:
        name: Of the domain, behind `reasoning_gym.` or `quickstart.`.
        generator: Of reasoning-gym.
        read: From entry and index to the task, or None where the entry makes no good task.
        prompt: With `{question}`.
        summary: One sentence.
        config: What differs from the generator's defaults.
        verify: The verifier's call.
        max_tokens: Of an episode.
        eval_size: Rows of `eval`; fewer where tasks are slow to make or few.
    """

    name: str
    generator: str
    read: Callable[[Entry, int], Task | None]
    prompt: str
    summary: str
    config: Mapping[str, Any] = field(default_factory=dict)
    verify: str = "reasoning_gym.exact(expected)"
    max_tokens: int = 256
    eval_size: int = 160


def plain(question: str, expected: object, key: object | None = None) -> Task:
    """Return a task whose key is its question, or what is given."""
    return Task(question, str(expected), question if key is None else str(key))


def rows(matrix: list[list[Any]]) -> str:
    """Return a matrix on one line: cells apart by a space, rows by ` / `."""
    return " / ".join(" ".join(str(cell) for cell in row) for row in matrix)
