"""From YAML events to a marked tree, without recursion, constructors or resolvers.

All duplicate keys and tags of a text are reported at once; what is merged by `<<` or repeated by an alias is the same
node again, so a finding in it points at where it is written. Everything an alias repeats counts towards the bounds.
"""

import re
from typing import Any

import msgspec
import yaml

from assay.dsl.source import misread
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Entry, Mapping, Node, Scalar, Sequence, Span, span_at
from assay.dsl.source.misread import Damage
from assay.dsl.source.position import Origin, SourceText, folded

MAX_DEPTH = 64
MAX_NODES = 100_000
MAX_DAMAGES = 1000
NULLS = frozenset({"", "~", "null"})
STYLES = {"'": "single", '"': "double", "|": "literal", ">": "folded"}
# A line inside a quoted text that starts like a key of the file.
STRAY = re.compile(r"[\n\r][^\s\"']")
# The C parser when PyYAML was built with it; marks are the same.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Refusal(Exception):
    """A text that is not read any further; `finding` says why."""

    def __init__(self, found: Finding) -> None:
        super().__init__(found.message)
        self.found = found


class Unclosed(Exception):
    """A quote that was never closed where it should be, seen by a line without indentation inside it."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


class Held(msgspec.Struct, frozen=True):
    """A finished node with what it weighs.

    Attributes:
        node: The node.
        size: Nodes in it, aliases expanded.
        height: Levels of collections in it.
    """

    node: Node
    size: int
    height: int


class Frame:
    """A collection that is still open."""

    def __init__(self, event: Any, start: int, path: tuple[str, ...], is_flow: bool) -> None:
        self.is_mapping = isinstance(event, yaml.MappingStartEvent)
        self.start = start
        self.path = path
        self.is_flow = is_flow
        self.anchor: str | None = event.anchor
        self.key: Scalar | None = None
        self.is_skipping = False
        self.seen: dict[str, Span] = {}
        self.entries: list[Entry | list[Mapping]] = []
        self.items: list[Node] = []
        self.size = 1
        self.height = 1


class Builder:
    """Builds one tree from one pass over the events.

    Args:
        source: The text as written; scalars are spelled and placed from it.
        repairs: Ends of misread expressions by their start. The text that is parsed has one plain word in each such
            place, of the same length, so that all offsets are those of the source.
        base: Keys above the whole text; an override's value has some.
    """

    def __init__(self, source: SourceText, repairs: dict[int, Damage], base: tuple[str, ...] = ()) -> None:
        self.source = source
        self.repairs = repairs
        self.base = base
        self.findings: list[Finding] = []
        self.damages: list[Damage] = []
        self.stack: list[Frame] = []
        self.anchors: dict[str, Held] = {}
        self.values: list[tuple[int, int]] = []
        self.quoted: list[tuple[int, int]] = []
        self.count = 0
        self.root: Node | None = None
        self.num_documents = 0

    def build(self, text: str) -> Node | None:
        """Read a text of the source's length.

        Raises:
            yaml.YAMLError: the text is not YAML.
            Refusal: a bound or the form of the document is violated.
        """
        event: Any
        for event in yaml.parse(text, Loader=LOADER):
            if isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                self._open(event)
            elif isinstance(event, yaml.MappingEndEvent):
                self._close_mapping(event)
            elif isinstance(event, yaml.SequenceEndEvent):
                self._close_sequence(event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                self.num_documents += 1
                if self.num_documents > 1:
                    mark: Any = event.start_mark
                    self._refuse(mark.index, "a file must hold one document, got a second", "remove this line")
        return self.root

    @property
    def path(self) -> tuple[str, ...]:
        """Keys above the next node."""
        if not self.stack:
            return self.base
        frame = self.stack[-1]
        return frame.path if frame.key is None else (*frame.path, frame.key.text)

    @property
    def is_in_flow(self) -> bool:
        return bool(self.stack) and self.stack[-1].is_flow

    def span(self, start: int, end: int) -> Span:
        return span_at(self.source, start, end)

    def _refuse(self, offset: int, message: str, hint: str = "") -> None:
        raise Refusal(finding("YM005", self.span(offset, offset + 1), message, hint))

    def _add(self, code: str, start: int, end: int, message: str, hint: str = "") -> None:
        self.findings.append(finding(code, self.span(start, end), message, hint))

    def _weigh(self, size: int, height: int, offset: int) -> None:
        self.count += size
        if self.count > MAX_NODES:
            self._refuse(
                offset, f"a file must have at most {MAX_NODES} nodes, aliases expanded", "write rows to a file"
            )
        if len(self.stack) + height > MAX_DEPTH:
            self._refuse(offset, f"a file must nest at most {MAX_DEPTH} levels")

    def _content(self, event: Any) -> int:
        """Return where a node's own text begins, after its anchor and tag."""
        text, at, end = self.source.text, event.start_mark.index, event.end_mark.index
        if event.anchor is None and event.tag is None:
            return int(at)
        while at < end and text[at] in "&!#":
            is_comment = text[at] == "#"
            while at < end and not (text[at] in "\r\n" if is_comment else text[at].isspace() or text[at] in ",]}"):
                at += 1
            while at < end and text[at].isspace():
                at += 1
        return int(at)

    def _is_value(self) -> bool:
        """Return whether the next node is an item or a value, not a key."""
        if not self.stack:
            return False
        frame = self.stack[-1]
        return not frame.is_mapping or frame.key is not None or frame.is_skipping

    def _tag(self, event: Any, start: int) -> None:
        tag = event.tag
        if tag is None:
            return
        text = self.source.text
        at = text.find("!", event.start_mark.index, max(start, event.start_mark.index + 1))
        at = event.start_mark.index if at < 0 else at
        end = at
        while end < len(text) and not text[end].isspace() and not (self.is_in_flow and text[end] in ",]}"):
            end += 1
        if self._is_not(event, at, end):
            return
        self._add("YM003", at, end, f"a value must not have a tag, got {text[at:end]}", "remove the tag")

    def _is_not(self, event: Any, at: int, end: int) -> bool:
        """Record `!a.b` where an expression is meant: not a tag, but a `not` of other languages."""
        is_meant = isinstance(event, yaml.ScalarEvent) and self._is_value() and misread.is_expression_place(self.path)
        word = self.source.text[at + 1 : end]
        if not is_meant or word[:1] in ("!", "<", "") or event.anchor is not None:
            return False
        is_empty = not event.value or self.source.text[end : end + 1] in (",", "]", "}")
        if not is_empty and not event.value.startswith(("and ", "or ", "=", "<", ">", "+", "*", "/", "-", "!")):
            return False
        damage = misread.at_indicator(self.source.text, at, self.is_in_flow)
        if damage is None:
            return False
        self.damages.append(msgspec.structs.replace(damage, hint=f"write: not {word}"))
        return True

    def _scalar(self, event: Any) -> None:
        start, end = self._content(event), event.end_mark.index
        is_key = not self._is_value()
        self._tag(event, start)
        scalar = self._read(event, start, end)
        if not is_key and scalar.style == "plain" and not scalar.is_repaired and self.stack:
            self._judge(scalar.text, start, end)
        if not is_key:
            self.values.append((start, end))
        self._weigh(1, 0, start)
        held = Held(scalar, 1, 0)
        if event.anchor is not None:
            self.anchors[event.anchor] = held
        self._attach(held, start, end)

    def _read(self, event: Any, start: int, end: int) -> Scalar:
        style = STYLES.get(event.style or "", "plain")
        value = event.value
        damage = self.repairs.get(start) if style == "plain" else None
        if damage is not None:
            value = folded(self.source.text[start : damage.end])
        if style != "plain":
            self.quoted.append((start, end))
            if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
                self._refuse(start, "a text must be made of whole characters, got half of a surrogate pair")
            if style in ("single", "double") and STRAY.search(self.source.text, start, end):
                raise Unclosed(start, "a quote must be closed, or its further lines be indented")
        return Scalar(
            value,
            self.span(start, self._shown_end(start, end)),
            style,  # type: ignore[arg-type]
            Origin(self.source, start, end, style, value),
            style == "plain" and damage is None and value in NULLS,
            damage is not None,
        )

    def _shown_end(self, start: int, end: int) -> int:
        text = self.source.text
        while end > start and text[end - 1].isspace():
            end -= 1
        return end

    def _judge(self, value: str, start: int, end: int) -> None:
        """Record a plain scalar that YAML cut inside a bracket or quote."""
        if len(self.damages) >= MAX_DAMAGES or not misread.is_expression_place(self.path):
            return
        if not misread.is_unfinished(value):
            return
        text = self.source.text
        if self.is_in_flow:
            damage = misread.cut_by_comma(text, start, end, self.path[0] == "data")
        else:
            damage = misread.cut_by_comment(text, start, end)
        if damage is not None:
            self.damages.append(damage)

    def _alias(self, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        held = self.anchors.get(event.anchor)
        if held is None:
            if self._is_value() and misread.is_expression_place(self.path):
                damage = misread.at_indicator(self.source.text, start, self.is_in_flow)
                if damage is not None:
                    self.damages.append(damage)
                    held = Held(Scalar(self.source.text[start:end], self.span(start, end)), 1, 0)
            if held is None:
                self._refuse(start, f"an alias must name a finished anchor above it, got *{event.anchor}")
                return
        self._weigh(held.size, held.height, start)
        self._attach(held, start, end)

    def _open(self, event: Any) -> None:
        start = self._content(event)
        self._tag(event, start)
        self._weigh(1, 1, start)
        is_flow = bool(event.flow_style) or self.is_in_flow
        if not self.is_in_flow:
            self.values = []
        # An anchor names nothing until its node is finished, so that no tree holds itself.
        if event.anchor is not None:
            self.anchors.pop(event.anchor, None)
        self.stack.append(Frame(event, start, self.path, is_flow))

    def _attach(self, held: Held, start: int, end: int) -> None:
        if not self.stack:
            self.root = held.node
            return
        frame = self.stack[-1]
        frame.size += held.size
        frame.height = max(frame.height, held.height + 1)
        if not frame.is_mapping:
            frame.items.append(held.node)
        elif frame.is_skipping:
            frame.is_skipping, frame.key = False, None
        elif frame.key is None:
            self._key(frame, held.node, start, end)
        else:
            self._value(frame, frame.key, held.node, start, end)
            frame.key = None

    def _key(self, frame: Frame, node: Node, start: int, end: int) -> None:
        if not isinstance(node, Scalar) or (node.is_null and node.text == ""):
            what = "nothing" if isinstance(node, Scalar) else "a list" if isinstance(node, Sequence) else "a mapping"
            self._add("YM003", start, max(end, start + 1), f"a key must be a name, got {what}")
            frame.is_skipping = True
            return
        frame.key = node
        first = frame.seen.get(node.text)
        if first is None:
            frame.seen[node.text] = node.span
            return
        where = "it is on this line already" if first.line == node.span.line else f"it is on line {first.line} already"
        self._add("YM001", start, end, f"a key must be unique, got {node.text!r} twice", where)
        frame.is_skipping = True

    def _value(self, frame: Frame, key: Scalar, node: Node, start: int, end: int) -> None:
        if key.text != "<<" or key.is_quoted:
            frame.entries.append(Entry(key, node))
            return
        sources = node.items if isinstance(node, Sequence) else (node,)
        merged = [source for source in sources if isinstance(source, Mapping)]
        if len(merged) < len(sources):
            self._add("YM003", start, end, "a merge key must name a mapping or a list of mappings")
        frame.entries.append(merged)

    def _close_sequence(self, event: Any) -> None:
        frame = self.stack.pop()
        self._finish(frame, Sequence(tuple(frame.items), self._whole(frame, event), frame.is_flow), event)

    def _close_mapping(self, event: Any) -> None:
        frame = self.stack.pop()
        entries: list[Entry] = []
        taken = {item.key.text for item in frame.entries if isinstance(item, Entry)}
        for item in frame.entries:
            if isinstance(item, Entry):
                entries.append(item)
                continue
            for merged in item:
                new = [entry for entry in merged.entries if entry.key.text not in taken]
                taken.update(entry.key.text for entry in new)
                entries += new
        self._finish(frame, Mapping(tuple(entries), self._whole(frame, event), frame.is_flow), event)

    def _whole(self, frame: Frame, event: Any) -> Span:
        return self.span(frame.start, self._shown_end(frame.start, event.end_mark.index))

    def _finish(self, frame: Frame, node: Node, event: Any) -> None:
        held = Held(node, frame.size, frame.height)
        if frame.anchor is not None:
            self.anchors[frame.anchor] = held
        self._attach(held, frame.start, event.end_mark.index)
