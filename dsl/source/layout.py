"""How a text is laid out: its nodes as written, with comments and blank lines; for the formatter.

The compiler never sees a layout. Anchors and aliases stay what they are, comments belong to the entry they stand at,
and every scalar keeps its own spelling.
"""

import re
from typing import Any

import msgspec
import yaml

from assay.dsl.source.builder import LOADER, STYLES
from assay.dsl.source.misread import Damage
from assay.dsl.source.position import SourceText, folded

COMMENT = re.compile(r"(?:(?<=[ \t\n\r,\[\]{}])|\A)#[^\n\r]*")


class Leaf(msgspec.Struct):
    """A scalar or an alias.

    Attributes:
        raw: As written, without anchor.
        value: What it reads as; of a misread expression, what was meant.
        style: plain, single, double, literal, folded or alias.
        is_repaired: Whether YAML misread it.
    """

    raw: str
    value: str
    style: str
    start: int
    end: int
    anchor: str | None = None
    is_repaired: bool = False


class Note(msgspec.Struct):
    """A comment on a line of its own."""

    text: str
    is_apart: bool


class Item(msgspec.Struct):
    """One entry of a mapping or one item of a list.

    Attributes:
        key: None in a list.
        column: Of its collection.
        is_apart: Whether a blank line stands before it.
        before: Comments above it.
        beside: Comments that end its lines.
        after: Comments below it that are indented deeper than what follows.
    """

    key: Leaf | None
    value: "Leaf | Branch"
    start: int
    column: int
    is_apart: bool = False
    before: list[Note] = []
    beside: list[str] = []
    after: list[Note] = []


class Branch(msgspec.Struct):
    """A mapping or a list."""

    is_mapping: bool
    is_flow: bool
    has_comment: bool
    items: list[Item]
    start: int
    end: int
    anchor: str | None = None


class Layout(msgspec.Struct):
    """A whole text.

    Attributes:
        root: The mapping.
        head: Comments at the top that belong to no entry.
        tail: Comments at the end.
    """

    root: Branch
    head: list[Note]
    tail: list[Note]
    num_comments: int


def read_layout(source: SourceText, text: str, repairs: dict[int, Damage]) -> Layout:
    """Return the layout of a text that loads.

    Args:
        source: As written.
        text: The same with misread expressions masked; see `loader.Reading`.
        repairs: The misread expressions by start.
    """
    return _Reader(source, text, repairs).read()


class _Reader:
    def __init__(self, source: SourceText, text: str, repairs: dict[int, Damage]) -> None:
        self.source = source
        self.text = text
        self.repairs = repairs
        events = list(yaml.parse(text, Loader=LOADER))
        self.spans = [(_at(e.start_mark), _at(e.end_mark)) for e in events if isinstance(e, yaml.ScalarEvent)]
        self.events: list[Any] = events
        self.next = 0
        self.comments = self.find_comments()
        self.items: list[Item] = []

    def read(self) -> Layout:
        while not isinstance(self.events[self.next], yaml.MappingStartEvent):
            self.next += 1
        root = self.node(0)
        assert isinstance(root, Branch)
        layout = Layout(root, [], [], len(self.comments))
        self.attach(layout)
        return layout

    def find_comments(self) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        index, match = 0, COMMENT.search(self.text)
        while match is not None:
            at = match.start()
            while index < len(self.spans) and self.spans[index][1] <= at:
                index += 1
            if index == len(self.spans) or self.spans[index][0] > at:
                found.append((at, self.source.text[at : match.end()].rstrip()))
                match = COMMENT.search(self.text, match.end())
            else:
                self.header(match, self.spans[index][0], found)
                match = COMMENT.search(self.text, self.spans[index][1])
        return found

    def header(self, match: re.Match[str], start: int, found: list[tuple[int, str]]) -> None:
        """Take a comment on the first line of a block scalar."""
        head = self.text[start : match.start()]
        if re.fullmatch(r"(?:[&!]\S*\s+)*[|>][-+0-9]*[ \t]+", head):
            found.append((match.start(), match[0].rstrip()))

    def node(self, column: int) -> Leaf | Branch:
        event = self.events[self.next]
        self.next += 1
        start, end = _at(event.start_mark), _at(event.end_mark)
        if isinstance(event, yaml.AliasEvent):
            return Leaf(f"*{event.anchor}", "", "alias", start, end)
        if isinstance(event, yaml.ScalarEvent):
            return self.leaf(event, start, end)
        return self.branch(event, start, column)

    def leaf(self, event: Any, start: int, end: int) -> Leaf:
        at = start
        if event.anchor is not None:
            at = min(end, start + 1 + len(event.anchor))
            while at < end and (self.text[at].isspace() or self.text[at] == "#"):
                at = self.source.line_end(at) if self.text[at] == "#" else at + 1
        style = STYLES.get(event.style or "", "plain")
        damage = self.repairs.get(at) if style == "plain" else None
        raw = self.source.text[at:end]
        value = event.value if damage is None else folded(raw)
        return Leaf(raw, value, style, start, end, event.anchor, damage is not None)

    def branch(self, event: Any, start: int, column: int) -> Branch:
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        is_flow = bool(event.flow_style)
        if not is_flow:
            mark: Any = event.end_mark if event.anchor is not None else event.start_mark
            column = self.source.place(_at(mark))[1]
        branch = Branch(is_mapping, is_flow, False, [], start, start, event.anchor)
        first = len(self.items)
        while not isinstance(self.events[self.next], (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            at = _at(self.events[self.next].start_mark)
            item = Item(None, Leaf("", "", "plain", at, at), at, column)
            self.items.append(item)
            if is_mapping:
                key = self.node(column)
                assert isinstance(key, Leaf)
                item.key = key
            item.value = self.node(column)
            branch.items.append(item)
        branch.end = _at(self.events[self.next].end_mark)
        self.next += 1
        branch.has_comment = is_flow and any(branch.start < at < branch.end for at, _ in self.comments)
        if is_flow and not branch.has_comment:
            # Written on one line, or opened up as a whole: no comment can stand at what is inside.
            del self.items[first:]
        return branch

    def attach(self, layout: Layout) -> None:
        """Give every comment and blank line to an entry."""
        index = 0
        waiting: list[Note] = []
        for place, item in enumerate(self.items):
            while index < len(self.comments) and self.comments[index][0] < item.start:
                self.comment(self.comments[index], place, waiting)
                index += 1
            item.before, waiting = waiting, []
            item.is_apart = self.is_apart(item.start)
        for comment in self.comments[index:]:
            self.comment(comment, len(self.items), layout.tail)
        first = layout.root.items[0] if layout.root.items else None
        if first is not None and first.before and first.is_apart:
            layout.head, first.before = first.before, []

    def comment(self, comment: tuple[int, str], place: int, waiting: list[Note]) -> None:
        """Give one comment to an entry before it, or let it wait for the one at `place`."""
        at, text = comment
        column = self.source.place(at)[1]
        last = self.items[place - 1] if place else None
        if last is not None and self.text[at - column + 1 : at].strip(" \t"):
            last.beside.append(text)
            return
        note = Note(text, self.is_apart(at))
        outside = self.items[place].column if place < len(self.items) else 1
        if last is None or waiting or column <= outside:
            waiting.append(note)
            return
        owner = last
        for item in reversed(self.items[:place]):
            if owner.column <= column:
                break
            if item.column < owner.column:
                owner = item
        owner.after.append(note)

    def is_apart(self, offset: int) -> bool:
        """Return whether the line above the one around an offset is blank."""
        starts = self.source.starts
        line = self.source.place(offset)[0] - 1
        return line > 0 and not self.text[starts[line - 1] : starts[line]].strip()


def _at(mark: Any) -> int:
    return int(mark.index)
