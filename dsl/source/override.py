"""Overrides: edits of a tree from the command line, with spans of their own.

    domain.<entry>.<path>=<value>     replace what exists: any key of the schema, any existing name
    +domain.<entry>.<path>=<value>    add a name that does not exist
    ~domain.<entry>.<path>            remove what exists

`curriculum.<path>` edits the curriculum. A path has names; list items go by index from 0, and by their `name` where
they have one. What leads nowhere is CF001: nothing is accepted without effect. A value is replaced as a whole, also
where it is a mapping. Where the schema wants a mapping or a list the value is YAML (`{size: 4}`, `[a, b]`); everywhere
else it is the text itself, with one level of quotes taken off.
"""

import re
from typing import Literal

import msgspec

from assay.core.name import suggestion
from assay.dsl.schema import Shape
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.loader import check_characters, load_value
from assay.dsl.source.mark import Entry, Mapping, Node, Scalar, Sequence, Span, span_at
from assay.dsl.source.position import Origin, SourceText

Action = Literal["set", "add", "put", "remove"]
SIGNS: dict[str, Action] = {"": "set", "+": "add", "++": "put", "~": "remove"}
FORM = re.compile(r"(\+\+|\+|~)?([^=\s]+)(=)?", re.S)
STRUCTURED = frozenset({"keys", "map", "list", "data", "value"})


class Segment(msgspec.Struct, frozen=True):
    """One name of a path, and where it stands in the override."""

    name: str
    start: int


class Override(msgspec.Struct, frozen=True):
    """One edit.

    Attributes:
        target: What it edits.
        entry: Name of the mix entry; empty for a curriculum.
        action: `put` (written `++`) sets or adds.
        path: Below the entry or the curriculum.
        value_start: Offset of the value; -1 for a removal.
        source: The override's own text, with the path `<override n>`.
    """

    target: Literal["domain", "curriculum"]
    entry: str
    action: Action
    path: tuple[Segment, ...]
    value_start: int
    source: SourceText

    @property
    def raw(self) -> str:
        """The value as written."""
        return "" if self.value_start < 0 else self.source.text[self.value_start :]

    def span(self, index: int) -> Span:
        """Return the span of one name of the path."""
        segment = self.path[index]
        return span_at(self.source, segment.start, segment.start + len(segment.name))


def parse_override(text: str, number: int) -> Override | Finding:
    """Read one override of a domain or of the curriculum.

    Args:
        text: As written on the command line, without the shell's quotes.
        number: From 1; for spans.
    """
    source = SourceText(f"<override {number}>", text)
    whole = span_at(source, 0, len(text))
    if (found := check_characters(source)) is not None:
        return found
    match = FORM.match(text)
    if match is None or not (match[3] or match.end() == len(text)):
        return finding("CF001", whole, "an override must read <path>=<value>, +<path>=<value> or ~<path>")
    action = SIGNS[match[1] or ""]
    if (action == "remove") == bool(match[3]):
        must = "a removal must be a path alone" if action == "remove" else "an override must have a value"
        return finding("CF001", whole, must, "write: ~<path>" if action == "remove" else "write: <path>=<value>")
    segments, at = [], match.start(2)
    for name in match[2].split("."):
        segments.append(Segment(name, at))
        at += len(name) + 1
    if any(not segment.name for segment in segments):
        return finding("CF001", whole, "a path must have a name between its dots")
    root, *path = segments
    is_domain = root.name == "domain"
    if root.name not in ("domain", "curriculum") or len(path) < 1 + is_domain:
        must = "must begin with domain.<entry>.<path> or curriculum.<path>"
        return finding("CF001", whole, f"an override of a declaration {must}")
    entry = path.pop(0).name if is_domain else ""
    value_start = match.end() if match[3] else -1
    return Override("domain" if is_domain else "curriculum", entry, action, tuple(path), value_start, source)


def apply_overrides(
    tree: Mapping, overrides: list[Override] | tuple[Override, ...], shape: Shape
) -> tuple[Mapping, tuple[Finding, ...]]:
    """Apply the overrides of one tree in order.

    Args:
        tree: A domain or a curriculum.
        overrides: Those of its mix entry, or of the curriculum.
        shape: Its schema.

    Returns:
        The edited tree, and a CF001 (YM001 to YM005 in a value) for each override that could not be applied.
    """
    findings: list[Finding] = []
    for override in overrides:
        edit = _Edit(override)
        try:
            edited = edit.node(tree, shape, 0)
        except _Refused as refused:
            findings.append(refused.found)
        else:
            assert isinstance(edited, Mapping)
            tree = edited
        findings += edit.findings
    return tree, tuple(findings)


class _Refused(Exception):
    def __init__(self, found: Finding) -> None:
        super().__init__(found.message)
        self.found = found


class _Edit:
    """One override on its way down a tree."""

    def __init__(self, override: Override) -> None:
        self.override = override
        self.path = override.path
        self.findings: list[Finding] = []

    def node(self, node: Node | None, shape: Shape | None, at: int) -> Node:
        """Return a node with the edit below it; `at` is the index of the next name."""
        if node is None or (isinstance(node, Scalar) and node.is_null and _holds(shape)):
            is_list = shape is not None and shape.form == "list"
            node = Sequence((), self.override.span(at)) if is_list else Mapping((), self.override.span(at))
        if isinstance(node, Mapping):
            return self.mapping(node, shape, at)
        if isinstance(node, Sequence):
            return self.sequence(node, shape, at)
        raise self.refuse(at, f"`{self.named(at)}` must hold names, got a value", "")

    def mapping(self, node: Mapping, shape: Shape | None, at: int) -> Mapping:
        name, after = self.pick(node, shape, at)
        found = node.entry(name)
        below = None if shape is None else shape.child(name)
        is_key = shape is not None and name in shape.keys
        is_open = below is not None or shape is None
        known = [*node.keys(), *(shape.keys if shape is not None else ())]
        is_last = after == len(self.path)
        if found is None and not is_key and (not is_last or not is_open):
            raise self.unknown(at, name, known, is_open)
        if is_last:
            self.judge(at, name, found is not None, is_key, known, is_open)
        if is_last and self.override.action == "remove":
            return self.rebuilt(node, tuple(entry for entry in node.entries if entry is not found))
        value = self.value(below) if is_last else self.node(found.value if found else None, below, after)
        if found is not None:
            entries = tuple(Entry(entry.key, value) if entry is found else entry for entry in node.entries)
            return self.rebuilt(node, entries)
        span = self.override.span(at)
        return self.rebuilt(node, (*node.entries, Entry(Scalar(name, span), value)))

    def sequence(self, node: Sequence, shape: Shape | None, at: int) -> Sequence:
        name = self.path[at].name
        names = [_item_name(item) for item in node.items]
        is_number = name.isascii() and name.isdecimal() and len(name) < 7
        index = int(name) if is_number else names.index(name) if name in names else -1
        below = None if shape is None else shape.item
        is_last = at + 1 == len(self.path)
        known = [*(item for item in names if item), *map(str, range(len(node.items)))]
        if not is_number and index < 0:
            raise self.unknown(at, name, known, False)
        exists = index < len(node.items)
        if is_last:
            self.judge(at, name, exists, False, known, index == len(node.items))
            if not exists and index > len(node.items):
                raise self.refuse(at, f"the next index must be {len(node.items)}, got {index}", "")
        elif not exists:
            raise self.unknown(at, name, known, False)
        items = list(node.items)
        if is_last and self.override.action == "remove":
            del items[index]
        elif exists:
            items[index] = self.value(below) if is_last else self.node(items[index], below, at + 1)
        else:
            items.append(self.value(below))
        return msgspec.structs.replace(node, items=tuple(items))

    def pick(self, node: Mapping, shape: Shape | None, at: int) -> tuple[str, int]:
        """Return the name that the path has next, and where it goes on; a name may have dots itself."""
        names = [segment.name for segment in self.path]
        if node.entry(names[at]) is not None or (shape is not None and names[at] in shape.keys):
            return names[at], at + 1
        for end in range(len(names), at + 1, -1):
            if node.entry(".".join(names[at:end])) is not None:
                return ".".join(names[at:end]), end
        if shape is not None and shape.form == "map" and shape.expects == "dotted":
            return ".".join(names[at:]), len(names)
        return names[at], at + 1

    def judge(self, at: int, name: str, exists: bool, is_key: bool, known: list[str], is_open: bool) -> None:
        """Refuse an action that does not fit what is there."""
        action = self.override.action
        if action == "add" and exists:
            raise self.refuse(at, f"an added name must be new, got `{self.named(at)}`", "leave out the + to replace it")
        if not exists and (action == "remove" or (action == "set" and not is_key)):
            raise self.unknown(at, name, known, is_open)

    def unknown(self, at: int, name: str, known: list[str], is_open: bool) -> _Refused:
        hint = suggestion(name, known)
        if is_open and self.override.action == "set":
            hint = f"{hint}{' ' if hint.endswith('?') else '; ' if hint else ''}+ adds a new name"
        return self.refuse(at, f"an override must lead to a name that exists, got `{self.named(at, name)}`", hint)

    def refuse(self, at: int, message: str, hint: str) -> _Refused:
        at = min(at, len(self.path) - 1)
        return _Refused(finding("CF001", self.override.span(at), message, hint, self.named(at)))

    def named(self, at: int, name: str | None = None) -> str:
        names = [segment.name for segment in self.path[:at]]
        return ".".join([*names, self.path[min(at, len(self.path) - 1)].name if name is None else name])

    def rebuilt(self, node: Mapping, entries: tuple[Entry, ...]) -> Mapping:
        return msgspec.structs.replace(node, entries=entries)

    def value(self, shape: Shape | None) -> Node:
        """Return the value as the schema wants it: YAML for what has structure, text otherwise."""
        override = self.override
        raw = override.raw
        is_structured = shape is None or shape.form in STRUCTURED
        if is_structured and raw.lstrip()[:1] in ("{", "["):
            base = tuple(segment.name for segment in self.path)
            node, found = load_value(override.source, override.value_start, base)
            self.findings += found
            if node is None:
                raise _Refused(self.findings.pop())
            return node
        return _text(override)


def _holds(shape: Shape | None) -> bool:
    return shape is not None and shape.form in ("keys", "map", "list")


def _item_name(item: Node) -> str:
    name = item.get("name") if isinstance(item, Mapping) else None
    return name.text if isinstance(name, Scalar) else ""


def _text(override: Override) -> Scalar:
    """Return the value as text, without its quotes where it is one quoted text."""
    raw, start, end = override.raw, override.value_start, len(override.source.text)
    stripped = raw.strip()
    quote = stripped[:1]
    if quote in ("'", '"') and re.fullmatch(rf"{quote}(?:[^{quote}\\]|\\.)*{quote}", stripped, re.S):
        first = start + raw.index(quote)
        inner = stripped[1:-1]
        value = inner.replace("\\" + quote, quote)
        origin = Origin(override.source, first + 1, first + 1 + len(inner), "raw", value)
        style: Literal["single", "double"] = "single" if quote == "'" else "double"
        return Scalar(value, span_at(override.source, first, first + len(stripped)), style, origin)
    origin = Origin(override.source, start, end, "raw", raw)
    is_null = raw in ("", "~", "null")
    return Scalar(raw, span_at(override.source, start, end), "plain", origin, is_null)
