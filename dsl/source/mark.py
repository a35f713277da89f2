"""Marked trees: the text of a declaration with a position on every node.

Scalars stay text; the schema types them, never the YAML resolver. Lines and columns count from 1, in code points;
`end_column` is exclusive. A tree comes from a file, from the Python door or from an override, and nothing behind this
module asks which.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from assay.dsl.source.position import Origin, SourceText

# `given` is a number, a bool or None from Python, `given_text` a str.
Style = Literal["plain", "single", "double", "literal", "folded", "given", "given_text"]


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


def span_at(source: SourceText, start: int, end: int) -> Span:
    """Return the span of a stretch of a text, cut at the end of its first line."""
    line, column = source.place(start)
    end = max(start, min(end, source.line_end(start)))
    return Span(source.path, line, column, column + end - start, source.line(start))


class Scalar(msgspec.Struct, frozen=True):
    """One scalar.

    Attributes:
        text: Its content after unfolding and unescaping; never resolved to another type.
        span: The whole scalar, quotes included, cut at the end of its first line.
        style: How it was written.
        origin: Where the text stands; None where `span` is all there is.
        is_null: Nothing, `~` or `null`, unquoted. The text is kept, for where it is meant as text.
        is_repaired: YAML would have misread it and YM004 says so; the text is what was most likely meant. That it does
            not parse has the same cause and is not to be reported again.
    """

    text: str
    span: Span
    style: Style = "plain"
    origin: Origin | None = None
    is_null: bool = False
    is_repaired: bool = False

    @property
    def is_quoted(self) -> bool:
        """Whether it is explicitly text: quoted or a block in YAML, a str in Python.

        `{n: 7}` may be a number or a text, as the schema wants it; `{n: "7"}` is a text.
        """
        return self.style not in ("plain", "given")

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Line and column of each code point of `text`, one more for its end; computed anew at each call."""
        origin = self.origin
        if origin is None:
            return ()
        first = (self.span.line, self.span.column)
        offsets = [origin.offset(index) for index in range(len(self.text))]
        places = [first if offset < 0 else origin.source.place(offset) for offset in offsets]
        last = offsets[-1] if offsets else -1
        places.append(first if last < 0 else origin.source.place(last + 1))
        return tuple(places)

    def part(self, start: int, end: int) -> Span:
        """Return the span of `text[start:end]`, cut at the end of its first line.

        At an escape this is the whole scalar's span.
        """
        origin = self.origin
        if origin is None or start > len(self.text):
            return self.span
        is_end = start == len(self.text) > 0
        first = origin.offset(start - 1 if is_end else start)
        if first < 0:
            return self.span
        if is_end:
            return span_at(origin.source, first + 1, first + 2)
        for index in range(min(end, len(self.text)) - 1, start, -1):
            last = origin.offset(index)
            if last >= 0:
                return span_at(origin.source, first, last + 1)
        return span_at(origin.source, first, first + 1)


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


def to_plain(node: Node) -> Any:
    """Return a tree without positions: pairs of key and value, lists, and (text, is_quoted) for a scalar.

    Two trees mean the same exactly when these are equal.
    """
    if isinstance(node, Scalar):
        return (node.text, node.is_quoted)
    if isinstance(node, Sequence):
        return [to_plain(item) for item in node.items]
    return {entry.key.text: to_plain(entry.value) for entry in node.entries}
