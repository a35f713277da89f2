"""`assay fmt`: one way to write a domain or curriculum file.

Keys of the file stand in the order of the schema, two spaces indent, mappings of expressions are blocks, and what YAML
misreads is quoted. Comments, anchors, spelling of scalars and single blank lines between entries stay. The result reads
as the same tree, which is checked before it is returned, and formats as itself.

Not done: expressions are not reformatted, comments are not wrapped.
"""

import json
import re

from assay.core.error import SourceError
from assay.dsl.edition import CURRICULUM, DOMAIN
from assay.dsl.source.layout import Branch, Item, Layout, Leaf, Note, read_layout
from assay.dsl.source.loader import Loaded, Reading, load
from assay.dsl.source.mark import Mapping, Node, Scalar, Sequence
from assay.dsl.source.misread import is_expression_place
from assay.dsl.source.position import BREAK, pieces_of

WIDTH = 120
STEP = 2
# Line breaks of YAML that would not survive being written as they are.
ODD_BREAK = re.compile("[\x85\u2028\u2029]")
UNSAFE = re.compile(r"[\s,\[\]{}#&*!|>'\"%@`]|[-?:](?:\s|$)")
UNSAFE_IN_FLOW = re.compile(r"[,\[\]{}]|^[-?:]|:$")
ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")

Path = tuple[str, ...]


class _Kept(str):
    """A line of a block whose trailing blank lines belong to its text."""

    __slots__ = ()


# None is a blank line of the layout; it is left out where it would be the second one or belong to a text.
Lines = list[str | None]


def format_text(data: bytes, path: str) -> str:
    """Return a file's text as `assay fmt` writes it.

    Args:
        data: The file.
        path: For findings.

    Raises:
        SourceError: the file cannot be read, or writing it would change its meaning.
    """
    loaded = load(data, path)
    faults = tuple(item for item in loaded.findings if item.code != "YM004")
    if loaded.tree is None or loaded.source is None or faults:
        raise SourceError("a file to format must be read without findings", findings=loaded.findings, at=path)
    reading = Reading(loaded.source)
    reading.read()
    layout = read_layout(loaded.source, reading.text, reading.repairs)
    for is_sorted in (True, False):
        text = _Writer(layout).write(is_sorted)
        if _means_same(loaded, layout, text, path):
            return text
    raise SourceError("formatting must keep the meaning of a file, got another tree", at=path, todo="Report this file")


def _means_same(loaded: Loaded, layout: Layout, text: str, path: str) -> bool:
    again = load(text.encode(), path)
    if again.tree is None or loaded.tree is None or again.findings or again.source is None:
        return False
    num_comments = read_layout(again.source, text, {}).num_comments
    return num_comments == layout.num_comments and _is_same(loaded.tree, again.tree, ())


def _is_same(first: Node, second: Node, path: Path) -> bool:
    """Return whether two nodes mean the same; in an expression quotes mean nothing."""
    if isinstance(first, Scalar) and isinstance(second, Scalar):
        is_quoting = first.is_repaired or (is_expression_place(path) and path[0] != "data")
        return first.text == second.text and (is_quoting or first.is_quoted == second.is_quoted)
    if isinstance(first, Sequence) and isinstance(second, Sequence):
        pairs = zip(first.items, second.items, strict=False)
        return len(first.items) == len(second.items) and all(_is_same(a, b, (*path, "-")) for a, b in pairs)
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        others = {entry.key.text: entry.value for entry in second}
        if set(first.keys()) != set(others) or (path and first.keys() != second.keys()):
            return False
        return all(_is_same(entry.value, others[entry.key.text], (*path, entry.key.text)) for entry in first)
    return False


class _Writer:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def write(self, is_sorted: bool) -> str:
        """Return the whole text."""
        layout = self.layout
        root = layout.root
        if is_sorted:
            root = Branch(True, False, False, _sorted(root.items), root.start, root.end)
        lines: Lines = _notes(layout.head, 0)
        if lines:
            lines.append(None)
        lines += self.branch(root, 0, ())
        lines += _notes(layout.tail, 0)
        kept: list[str] = []
        is_blank = True
        for line in lines:
            if line is not None:
                kept.append(line)
            elif not is_blank:
                kept.append("")
            is_blank = line is None or isinstance(line, _Kept)
        while kept and not kept[-1] and not isinstance(kept[-1], _Kept):
            kept.pop()
        return "".join(line + "\n" for line in kept) or "{}\n"

    def branch(self, branch: Branch, indent: int, path: Path) -> Lines:
        """Return a collection as a block."""
        lines: Lines = []
        for index, item in enumerate(branch.items):
            name = "-" if item.key is None else item.key.value
            block = self.item(item, indent, (*path, name))
            apart = [note.is_apart for note in item.before] + [item.is_apart]
            notes = _notes(item.before, indent)
            if index == 0 and notes and notes[0] is None:
                notes = notes[1:]
            lines += notes
            if apart[-1] and (index or item.before):
                lines.append(None)
            # More than one comment beside an entry: it was written over several lines and now is not.
            lines += [" " * indent + text for text in item.beside[1:]]
            lines += block
            lines += _notes(item.after, indent)
        return lines

    def item(self, item: Item, indent: int, path: Path) -> Lines:
        head = "-" if item.key is None else self.key(item.key) + ":"
        pad = " " * indent
        value = item.value
        beside = "  " + item.beside[0] if item.beside else ""
        if isinstance(value, Leaf):
            return self.leaf_lines(value, pad + head, indent, path, beside)
        anchor = f" &{value.anchor}" if value.anchor is not None else ""
        if self.stays_flow(value, path):
            text = self.flow(value)
            if text is not None and len(pad + head + anchor) + 1 + len(text) <= WIDTH:
                return [f"{pad}{head}{anchor} {text}{beside}"]
        inner = self.branch(value, indent + STEP, path)
        first = inner[0] if inner else None
        if item.key is None and not anchor and first is not None and not first.lstrip().startswith("#"):
            if "  #" in first and beside:
                return [pad + beside.strip(), f"{pad}- {first.lstrip(' ')}", *inner[1:]]
            return [f"{pad}- {first.lstrip(' ')}{beside}", *inner[1:]]
        return [pad + head + anchor + beside, *inner]

    def key(self, key: Leaf) -> str:
        anchor = "" if key.anchor is None else f"&{key.anchor} "
        if key.style == "alias":
            return key.raw + " "
        if BREAK.search(key.raw):
            return anchor + quote(key.value)
        is_safe = key.style != "plain" or _is_plain(key.value, False)
        return anchor + (key.raw if is_safe else quote(key.value))

    def stays_flow(self, branch: Branch, path: Path) -> bool:
        """Return whether a collection may stay on one line: no comment in it, and no mapping of expressions."""
        if not branch.items:
            return True
        is_row = path[:1] == ("data",) and len(path) > 2
        if not branch.is_flow or branch.has_comment:
            return False
        if branch.is_mapping and is_expression_place(path) and not is_row and path[:1] != ("fields",):
            return False
        return all(
            isinstance(item.value, Leaf)
            or self.stays_flow(item.value, (*path, "-" if item.key is None else item.key.value))
            for item in branch.items
        )

    def flow(self, branch: Branch) -> str | None:
        """Return a collection on one line, or None where it has something that needs a line of its own."""
        texts = []
        for item in branch.items:
            value = item.value
            text = self.flow_leaf(value) if isinstance(value, Leaf) else self.flow(value)
            if text is None:
                return None
            if value.anchor is not None:
                text = f"&{value.anchor} {text}"
            if item.key is not None:
                key = self.flow_leaf(item.key)
                if key is None or item.key.anchor is not None:
                    return None
                key += " " if item.key.style == "alias" else ""
                text = f"{key}: {text}" if text else key
            texts.append(text)
        inner = ", ".join(texts)
        return f"{{{inner}}}" if branch.is_mapping else f"[{inner}]"

    def flow_leaf(self, leaf: Leaf) -> str | None:
        if leaf.style == "alias":
            return leaf.raw
        if leaf.is_repaired or leaf.style in ("literal", "folded"):
            return quote(leaf.value)
        if leaf.style != "plain":
            return quote(leaf.value) if BREAK.search(leaf.raw) else leaf.raw
        if not leaf.value:
            return "" if leaf.anchor is None else None
        return leaf.value if _is_plain(leaf.value, True) else None

    def leaf_lines(self, leaf: Leaf, head: str, indent: int, path: Path, beside: str) -> Lines:
        """Return an entry whose value is a scalar."""
        start = head + ("" if leaf.anchor is None else f" &{leaf.anchor}")
        if leaf.style in ("literal", "folded"):
            block = _block(leaf, indent + STEP)
            if block is not None:
                return [f"{start} {block[0]}{beside}", *block[1:]]
            lines: list[str] = [quote(leaf.value)]
        else:
            lines = self.leaf(leaf, len(start) + 1, indent + STEP, path)
        lines[0] = f"{start} {lines[0]}".rstrip(" ")
        lines[-1] += beside
        return [*lines]

    def leaf(self, leaf: Leaf, column: int, indent: int, path: Path) -> list[str]:
        """Return a scalar that is no block, without its key."""
        if leaf.style == "alias":
            return [leaf.raw]
        if leaf.is_repaired:
            return [leaf.value if _is_plain(leaf.value, False) else quote(leaf.value)]
        if leaf.style != "plain" and ODD_BREAK.search(leaf.raw):
            return [quote(leaf.value)]
        if not BREAK.search(leaf.raw):
            if leaf.style != "plain" or not leaf.value or _is_plain(leaf.value, False):
                return [leaf.raw]
            return [quote(leaf.value)] if is_expression_place(path) else [leaf.raw]
        if leaf.style == "plain" and _is_plain(leaf.value, False) and column + len(leaf.value) <= WIDTH:
            return [leaf.value]
        return _continued(leaf, indent)


def quote(value: str) -> str:
    """Return a text in quotes: double, or single where that saves escapes."""
    if "\\" not in value and '"' not in value and value.isprintable():
        return f'"{value}"'
    if value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def _is_plain(value: str, in_flow: bool) -> bool:
    """Return whether a text reads as itself without quotes."""
    if not value or value != value.strip() or not value.isprintable() or UNSAFE.match(value):
        return False
    if ": " in value or value.endswith(":") or " #" in value or value.startswith(("---", "...")):
        return False
    return not (in_flow and UNSAFE_IN_FLOW.search(value))


def _continued(leaf: Leaf, indent: int) -> list[str]:
    """Return a plain or quoted scalar of several lines, its further lines indented."""
    first, *rest = BREAK.split(leaf.raw)
    return [first.rstrip(" ") if leaf.style == "plain" else first] + [
        " " * indent + line.lstrip(" \t") if line.strip(" \t") else "" for line in rest
    ]


def _block(leaf: Leaf, indent: int) -> list[str] | None:
    """Return a literal or folded block with its header first, or None where it must be quoted."""
    value = leaf.value
    if ODD_BREAK.search(leaf.raw) or not value.strip("\n"):
        return None
    header, *body = BREAK.split(leaf.raw)
    ends = len(value) - len(value.rstrip("\n"))
    chomp = "-" if ends == 0 else "" if ends == 1 else "+"
    if leaf.style == "folded":
        # Only an indentation found from the lines themselves can be changed.
        if "".join(text or "" for _, text in pieces_of(leaf.raw, "folded")) != value or re.search(r"[1-9]", header):
            return None
        width = min((len(line) - len(line.lstrip(" ")) for line in body if line.strip(" ")), default=0)
        lines = [line[width:] for line in body]
        while lines and not lines[-1]:
            lines.pop()
        lines += [""] * (ends - 1)
    else:
        lines = (value if ends == 0 else value[:-1]).split("\n")
    first = next(line for line in lines if line)
    digit = str(STEP) if first[0] == " " else ""
    kind = "|" if leaf.style == "literal" else ">"
    made = [" " * indent + line if line else "" for line in lines]
    return [kind + digit + chomp, *(map(_Kept, made) if chomp == "+" else made)]


def _notes(notes: list[Note], indent: int) -> Lines:
    lines: Lines = []
    for note in notes:
        lines += [None, " " * indent + note.text] if note.is_apart else [" " * indent + note.text]
    return lines


def _sorted(items: list[Item]) -> list[Item]:
    """Return the file's keys in the schema's order; an unknown one stays behind the key it follows."""
    names = [item.key.value for item in items if item.key is not None]
    shape = CURRICULUM if "curriculum" in names and "domain" not in names else DOMAIN
    order = {name: index for index, name in enumerate(shape.keys)}
    places, last = [], -1
    for name in names:
        last = order.get(name, last)
        places.append(last)
    return [items[index] for index in sorted(range(len(items)), key=places.__getitem__)]
