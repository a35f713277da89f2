"""What a reviewer sees of an episode: task, prompt, answer, and nothing that says how it was graded.

All of it was written by a policy or comes from data, so it may try to look like something else. Characters that move
the cursor, change colours, hide or turn text around are shown as `\\u{1b}`; every line stands behind a bar, so that no
text can pass for a line of the program; long ones are cut in the middle and shown whole on demand.
"""

import unicodedata
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.message import ImagePart, Message, TextPart, ToolCallPart, ToolResultPart
from assay.core.task import Task
from assay.core.trajectory import Trajectory

MAX_CHARACTERS, MAX_LINES = 4000, 60
# So many marks may stand on one letter; more paint over the lines around it.
_MAX_COMBINING = 3
_BAR = "  | "
# What leaves nothing on the screen: fillers, joiners, variation selectors, the empty braille.
_BLANK = frozenset(
    map(chr, (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164, *range(0xFE00, 0xFE10),
              0xFFA0, *range(0xE0100, 0xE01F0)))
)  # fmt: skip


class Exhibit(msgspec.Struct, frozen=True):
    """One episode as it is shown.

    Attributes:
        parts: Heading and text, in order.
    """

    parts: tuple[tuple[str, str], ...]

    def lines(self, width: int = 100, *, whole: bool = False) -> list[str]:
        """Return the lines to print, none wider than `width` columns; `whole` leaves nothing out."""
        found: list[str] = []
        for heading, text in self.parts:
            found.append(heading)
            found += barred(text if whole else cut(text), width)
        return found


def make_exhibit(task: Task, trajectory: Trajectory) -> Exhibit:
    """Return what is shown of an episode."""
    parts = [(f"task `{name}`", _plain(value)) for name, value in task.fields.items()]
    number = len(trajectory.turns)
    for index, turn in enumerate(trajectory.turns):
        which = f" {index + 1} of {number}" if number > 1 else ""
        parts += [(f"{message.role}{which}", _text(message)) for message in turn.prompt]
        if index < number - 1:
            parts.append((f"assistant{which}", _text(turn.completion)))
    parts.append(("answer", trajectory.final_text))
    if trajectory.answer is None:
        parts.append(("read as", "(nothing: it does not parse)"))
    elif trajectory.answer.strip() != trajectory.final_text.strip():
        parts.append(("read as", trajectory.answer))
    return Exhibit(tuple(parts))


def barred(text: str, width: int) -> list[str]:
    """Return the lines of a text behind a bar; a long one is broken here, since a terminal would lose the bar."""
    return [f"{_BAR}{part}" for line in visible(text).split("\n") for part in _break(line, width - len(_BAR))]


def visible(text: str) -> str:
    """Return text that shows every character and does nothing; line breaks stay.

    Example:
        >>> visible("red \\x1b[31m")
        'red \\\\u{1b}[31m'
    """
    found = []
    combining = 0
    for char in text:
        category = unicodedata.category(char)
        combining = combining + 1 if category in ("Mn", "Me") else 0
        # Control, format (bidi and zero-width among them), half a surrogate pair, private, unassigned, line breaks.
        is_hidden = category[0] == "C" or category in ("Zl", "Zp") or combining > _MAX_COMBINING or char in _BLANK
        found.append(f"\\u{{{ord(char):x}}}" if is_hidden and char not in "\n\t" else char)
    return "".join(found).replace("\t", "    ")


def cut(text: str) -> str:
    """Return the beginning and the end of a long text."""
    if len(text) > MAX_CHARACTERS:
        half = MAX_CHARACTERS // 2
        left_out = len(text) - 2 * half
        text = f"{text[:half]}\n... {left_out:,} characters left out; m shows all ...\n{text[-half:]}"
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        half = MAX_LINES // 2
        left_out = len(lines) - 2 * half
        lines = [*lines[:half], f"... {left_out:,} lines left out; m shows all ...", *lines[-half:]]
    return "\n".join(lines)


def _break(line: str, width: int) -> list[str]:
    parts, start, used = [], 0, 0
    for index, char in enumerate(line):
        columns = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if used + columns > width:
            parts.append(line[start:index])
            start, used = index, 0
        used += columns
    return [*parts, line[start:]]


def _text(message: Message) -> str:
    shown = []
    for part in message.parts:
        match part:
            case TextPart():
                shown.append(part.text)
            case ToolCallPart():
                shown.append(f"calls {part.tool}({_plain(part.arguments)})")
            case ToolResultPart():
                shown.append(f"{'error' if part.is_error else 'result'}: {part.text}")
            case ImagePart():
                shown.append(f"(an image, {part.media_type}, {part.blob.digest[:12]})")
    return "\n".join(shown)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_plain(item)}" for name, item in value.items())
    return msgspec.json.encode(value).decode()
