"""Marked trees: the text of a declaration with a position on every node.

Scalars stay text; the schema types them, never the YAML resolver. Lines and columns count from 1, in code points;
`end_column` is exclusive. A tree comes from a file, from the Python door or from an override, and nothing behind this
module asks which.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

Style = Literal["plain", "single", "double", "literal", "folded", "given"]


class Span(msgspec.Struct, frozen=True):
    """A place in a text.

    Attributes:
        path: As the user gave it; `<override 3>` for an override.
        line: From 1.
        column: From 1, in code points.
        end_column: Exclusive, on the same line.
        source: The line itself, for the caret; empty where there is none.
    """

    path: str
    line: int
    column: int
    end_column: int
    source: str = ""


class Scalar(msgspec.Struct, frozen=True):
    """One scalar.

    Attributes:
        text: Its content after unfolding and unescaping; never resolved to another type.
        span: The whole scalar, quotes included.
        style: How it was written; `given` for a value from Python.
        places: Line and column of each code point of `text`, one more for its end; empty where `span` is all there is.
        lines: Source lines by number, for spans on lines other than the first.
        is_null: Whether nothing was written.
    """

    text: str
    span: Span
    style: Style = "plain"
    places: tuple[tuple[int, int], ...] = ()
    lines: dict[int, str] = {}
    is_null: bool = False

    def part(self, start: int, end: int) -> Span:
        """Return the span of `text[start:end]`, cut at the end of its first line."""
        if not self.places or start >= len(self.places):
            return self.span
        line, column = self.places[start]
        end_column = column + 1
        for index in range(start + 1, min(end, len(self.places) - 1) + 1):
            if self.places[index][0] != line:
                break
            end_column = max(end_column, self.places[index][1])
        return Span(self.span.path, line, column, end_column, self.lines.get(line, self.span.source))


class Entry(msgspec.Struct, frozen=True):
    """One key and its value."""

    key: Scalar
    value: "Node"


class Mapping(msgspec.Struct, frozen=True):
    """A mapping; keys are unique once the loader has reported the others (YM001)."""

    entries: tuple[Entry, ...]
    span: Span
    is_flow: bool = False

    def get(self, key: str) -> "Node | None":
        """Return the value of a key."""
        entry = self.entry(key)
        return None if entry is None else entry.value

    def entry(self, key: str) -> Entry | None:
        """Return key and value."""
        return next((entry for entry in self.entries if entry.key.text == key), None)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def keys(self) -> tuple[str, ...]:
        """Return the keys in order."""
        return tuple(entry.key.text for entry in self.entries)


class Sequence(msgspec.Struct, frozen=True):
    """A list."""

    items: tuple["Node", ...]
    span: Span
    is_flow: bool = False


Node = Scalar | Mapping | Sequence
