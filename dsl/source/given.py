"""The Python door: a plain document as a marked tree.

Every position is the call that made the declaration. A str is text, exactly as a quoted scalar is; a number is what
`repr` writes, a bool `true` or `false`, None nothing, and all of these are as unquoted scalars are.
"""

import linecache
import math
from collections.abc import Mapping as AnyMapping
from typing import Any

from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.loader import Loaded
from assay.dsl.source.mark import Entry, Mapping, Node, Scalar, Sequence, Span

MAX_DEPTH = 64
MAX_NODES = 1_000_000


def tree_of(document: AnyMapping[str, Any], path: str, line: int) -> Loaded:
    """Return a declaration written in Python as a marked tree.

    Args:
        document: str, bool, int, float, None, and mappings and lists or tuples of these.
        path: File of the call.
        line: Its line.

    Returns:
        The tree without the values that cannot be meant, and a YM003 for each of them.
    """
    return _Reader(_call_span(path, line)).read(document)


def _call_span(path: str, line: int) -> Span:
    source = linecache.getline(path, line).rstrip("\r\n")
    start = len(source) - len(source.lstrip())
    return Span(path, line, start + 1, max(start + 2, len(source) + 1), source)


class _Reader:
    def __init__(self, span: Span) -> None:
        self.span = span
        self.findings: list[Finding] = []
        self.count = 0

    def read(self, document: AnyMapping[str, Any]) -> Loaded:
        tree = self.node(document, (), 0)
        return Loaded(tree if isinstance(tree, Mapping) else None, tuple(self.findings))

    def node(self, value: Any, path: tuple[str, ...], depth: int) -> Node | None:
        """Return one value as a node; None where it was refused. Depth is bounded, so that recursion is."""
        self.count += 1
        if self.count > MAX_NODES or depth > MAX_DEPTH:
            if self.count <= MAX_NODES + 1:
                bound = f"nest at most {MAX_DEPTH} levels" if depth > MAX_DEPTH else f"have at most {MAX_NODES} values"
                self.refuse(path, f"a declaration must {bound}")
            return None
        if isinstance(value, AnyMapping):
            return self.mapping(value, path, depth)
        if isinstance(value, (list, tuple)):
            items = [self.node(item, (*path, str(index)), depth + 1) for index, item in enumerate(value)]
            return Sequence(tuple(item for item in items if item is not None), self.span)
        return self.scalar(value, path)

    def mapping(self, value: AnyMapping[Any, Any], path: tuple[str, ...], depth: int) -> Node:
        entries = []
        for key, item in value.items():
            if not isinstance(key, str):
                self.refuse(path, f"a key must be a str, got {_name(key)}")
                continue
            if not _is_whole(key):
                self.refuse(path, "a key must be made of whole characters, got half of a surrogate pair")
                continue
            node = self.node(item, (*path, key), depth + 1)
            if node is not None:
                entries.append(Entry(Scalar(str.__str__(key), self.span, "given_text"), node))
        return Mapping(tuple(entries), self.span)

    def scalar(self, value: Any, path: tuple[str, ...]) -> Scalar | None:
        match value:
            case None:
                return Scalar("null", self.span, "given", is_null=True)
            case bool():
                return Scalar("true" if value else "false", self.span, "given")
            case int():
                return Scalar(_digits(value), self.span, "given")
            case float() if math.isfinite(value):
                return Scalar(float.__repr__(value), self.span, "given")
            case float():
                self.refuse(path, f"a number must be finite, got {value}")
            case str() if _is_whole(value):
                return Scalar(str.__str__(value), self.span, "given_text")
            case str():
                self.refuse(path, "a text must be made of whole characters, got half of a surrogate pair")
            case _:
                self.refuse(path, f"a value must be a str, number, bool, None, list or dict, got {_name(value)}")
        return None

    def refuse(self, path: tuple[str, ...], message: str) -> None:
        at = ".".join(path)
        self.findings.append(finding("YM003", self.span, f"`{at}`: {message}" if at else message, "", at))


def _is_whole(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def _digits(value: int) -> str:
    # Python refuses to write out an int of more than 4300 digits; no quantity of a declaration has so many.
    return int.__repr__(value) if value.bit_length() < 8192 else f"{'-' if value < 0 else ''}1e9999"


def _name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
