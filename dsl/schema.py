"""The schema of domain and curriculum files: which keys there are, what each holds, which are required.

One table serves the checks YM002 and YM003, overrides, `assay fmt`, `assay schema` and the reference page. A check
gives back the tree without its faulty parts, so that everything behind it may trust what it reads, and the paths of
what was left out, so that nothing is reported twice.
"""

import math
import re
from typing import Literal

import msgspec

from assay.core.kind import parse_kind
from assay.core.name import is_dotted, nearest
from assay.core.quantity import parse_count, parse_duration, parse_size
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Entry, Mapping, Node, Scalar, Sequence

Form = Literal[
    "text", "name", "int", "number", "bool", "count", "duration", "size", "choice", "kind",
    "expr", "call", "param", "bound", "value", "data", "keys", "map", "list",
]  # fmt: skip


class Shape(msgspec.Struct, frozen=True):
    """What may stand at one place.

    Attributes:
        form: `expr` is an expression, `call` a registered name with arguments, `param` a number or the name of a
            param, `bound` a number or a comparison with one, `value` any plain value, `data` a call or a list of rows,
            `keys` fixed keys, `map` open names.
        expects: What an `expr` must be (`bool`, `number`) or what a `call` names (`verifier`, `source` ...);
            a condition that may call stage rules expects `stage_rule`.
        keys: Of a `keys`; the ones a `map` reserves.
        item: Of a `map` or `list`.
        choices: Of a `choice`.
        required: Whether a missing key is YM002.
        lo: Smallest value of a number.
        doc: One line for people.
    """

    form: Form
    expects: str = ""
    keys: dict[str, "Shape"] = {}
    item: "Shape | None" = None
    choices: tuple[str, ...] = ()
    required: bool = False
    lo: float | None = None
    doc: str = ""

    def child(self, key: str) -> "Shape | None":
        """Return the shape of a key or index below this one."""
        return self.keys.get(key) or self.item


class Checked(msgspec.Struct, frozen=True):
    """A tree that keeps to its shape.

    Attributes:
        tree: Without faulty entries.
        findings: YM002 and YM003.
        faulty: Dotted paths of what was left out.
    """

    tree: Mapping
    findings: tuple[Finding, ...]
    faulty: frozenset[str]


def check_shape(
    tree: Mapping, shape: Shape, extra_kinds: frozenset[str] = frozenset(), lost: frozenset[str] = frozenset()
) -> Checked:
    """Check a tree against a shape; see `Checked`.

    Args:
        tree: As read.
        shape: What may stand there.
        extra_kinds: Types of fields beside those of the language.
        lost: Top-level keys that may have stood in what could not be read; they are faulty already.
    """
    checker = _Checker(extra_kinds)
    known = shape.keys.keys()
    checker.faulty |= known if lost - known and not lost & known else known & lost
    clean = checker.mapping(tree, shape, "", None)
    return Checked(clean, tuple(checker.findings), frozenset(checker.faulty))


class _Checker:
    def __init__(self, extra_kinds: frozenset[str]) -> None:
        self.extra_kinds = extra_kinds
        self.findings: list[Finding] = []
        self.faulty: set[str] = set()

    def node(self, node: Node, shape: Shape, path: str, key: Scalar | None) -> Node | None:
        """Return the node without its faulty parts, or None where it is faulty itself."""
        if shape.form in ("keys", "map"):
            if not isinstance(node, Mapping):
                return self.refuse(node, path, "must be a mapping")
            return self.mapping(node, shape, path, key)
        if shape.form == "data" and isinstance(node, Sequence):
            return node  # a row is judged by `fields`: DA001
        if shape.form == "list":
            if not isinstance(node, Sequence):
                return self.refuse(node, path, "must be a list")
            return self.sequence(node, shape, path, key)
        if shape.form == "value":
            return node
        if not isinstance(node, Scalar):
            return self.refuse(node, path, f"must be {describe(shape)}")
        reason = misfit(node, shape, self.extra_kinds)
        return node if reason is None else self.refuse(node, path, reason)

    def mapping(self, node: Mapping, shape: Shape, path: str, key: Scalar | None) -> Mapping:
        entries, unknown = [], []
        for entry in node:
            name = entry.key.text
            at = f"{path}.{name}" if path else name
            below = shape.child(name)
            if below is None:
                unknown.append(name)
                self.report("YM002", entry.key, f"unknown key `{name}`", _known(name, shape), at)
            elif shape.form == "map" and name not in shape.keys and not _is_open_name(name, shape):
                self.report("YM003", entry.key, f"a name must be an identifier, got {name!r}", "", at)
            elif (value := self.node(entry.value, below, at, entry.key)) is not None:
                entries.append(Entry(entry.key, value))
        for name, below in shape.keys.items():
            if below.required and node.entry(name) is None and not _is_meant(name, unknown):
                at = f"{path}.{name}" if path else name
                if at in self.faulty:
                    continue
                where = f"`{path}`" if path else "the file"
                span = key.span if key is not None else node.span
                self.faulty.add(at)
                self.findings.append(finding("YM002", span, f"{where} must have the key `{name}`", "", at))
        return Mapping(tuple(entries), node.span, node.is_flow)

    def sequence(self, node: Sequence, shape: Shape, path: str, key: Scalar | None) -> Sequence:
        item = shape.item or Shape("value")
        items = [self.node(child, item, f"{path}.{index}", key) for index, child in enumerate(node.items)]
        return Sequence(tuple(child for child in items if child is not None), node.span, node.is_flow)

    def refuse(self, node: Node, path: str, reason: str) -> Node | None:
        self.report("YM003", node, f"`{path}` {reason}, got {_show(node)}", "", path)
        return None

    def report(self, code: str, node: Node, message: str, hint: str, at: str) -> None:
        self.faulty.add(at)
        self.findings.append(finding(code, node.span, message, hint, at))


def misfit(node: Scalar, shape: Shape, extra_kinds: frozenset[str] = frozenset()) -> str | None:
    """Say what a scalar must be; None where it is."""
    text = node.text.strip()
    expected = describe(shape)
    if node.is_null and shape.form != "value":
        return f"must be {expected}"
    match shape.form:
        case "int" | "number" | "count" | "duration" | "size":
            return _number_misfit(text, shape)
        case "bool":
            return None if text in ("true", "false") else f"must be {expected}"
        case "choice":
            return None if text in shape.choices else f"must be {expected}"
        case "name":
            return None if is_dotted(text) else f"must be {expected}"
        case "kind":
            try:
                parse_kind(text, extra_kinds)
            except ValueError as error:
                return str(error).partition(", got ")[0]
        case "expr" | "call" | "param" | "bound" | "data":
            return None if text else f"must be {expected}"
    return None


def read_number(text: str) -> float | int:
    """Return a number as written: an int stays an int.

    Raises:
        ValueError: no finite decimal number.
    """
    text = text.strip()
    if re.fullmatch(r"[+-]?\d+", text):
        value: float | int = int(text) if len(text) < 400 else math.inf
    elif re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
        value = float(text)
    else:
        raise ValueError(f"must be a number, got {text!r}")
    if not math.isfinite(value) or abs(value) > 1.7e308:
        raise ValueError(f"must be a finite number, got {text!r}")
    return value


def describe(shape: Shape) -> str:
    """Return what a shape expects, in words."""
    match shape.form:
        case "choice":
            return f"one of {', '.join(shape.choices)}"
        case "int" | "number":
            least = "" if shape.lo is None else f" of at least {shape.lo:g}"
            return ("a whole number" if shape.form == "int" else "a number") + least
        case "expr":
            return "an expression"
        case "call":
            return f"a {shape.expects} with its arguments"
    return {
        "text": "a text",
        "name": "a dotted name",
        "bool": "true or false",
        "count": "a count such as 60 or 64k",
        "duration": "a duration such as 20min",
        "size": "a size such as 4GiB",
        "kind": "a type",
        "param": "a number or the name of a param",
        "bound": "a number or a comparison such as `> 1.5`",
        "data": "a source with its arguments, or a list of rows",
        "keys": "a mapping",
        "map": "a mapping",
        "list": "a list",
    }.get(shape.form, shape.form)


def _number_misfit(text: str, shape: Shape) -> str | None:
    reader = {"count": parse_count, "duration": parse_duration, "size": parse_size}.get(shape.form, read_number)
    try:
        value = reader(text)
    except ValueError:
        return f"must be {describe(shape)}"
    if shape.form == "int" and not isinstance(value, int):
        return f"must be {describe(shape)}"
    if shape.form in ("duration", "size") and value <= 0:
        return "must be more than 0"
    if shape.lo is not None and value < shape.lo:
        return f"must be at least {shape.lo:g}"
    return None


def _is_open_name(name: str, shape: Shape) -> bool:
    if shape.expects == "dotted":
        return is_dotted(name) or re.fullmatch(r"[A-Za-z_][\w.]*", name) is not None
    return name.isidentifier() and not name.startswith("_") and len(name) <= 100


def _is_meant(name: str, unknown: list[str]) -> bool:
    return any(name in nearest(other, [name]) for other in unknown)


def _known(name: str, shape: Shape) -> str:
    close = nearest(name, shape.keys)
    return f"did you mean `{close[0]}`?" if close else f"known keys: {', '.join(shape.keys)}"


def _show(node: Node) -> str:
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    if node.is_null:
        return "nothing"
    return repr(node.text if len(node.text) <= 60 else node.text[:57] + "...")
