"""Expression nodes: the part of the IR that rewards, gates and arguments are made of.

A parsed node knows where it stood in its text (`start`, `end`, code points). `strip` forgets that; stripped nodes are
values: equal meaning, equal bytes.
"""

from collections.abc import Iterator
from typing import Literal, TypeVar

import msgspec

ArithmeticOp = Literal["+", "-", "*", "/"]
CompareOp = Literal["<", "<=", ">", ">=", "==", "!="]


class _Node(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    start: int = 0
    end: int = 0


class Num(_Node, frozen=True, tag="num", tag_field="op"):
    """A number; `text` is its shortest spelling, `1e999` where it has no float64."""

    text: str

    @property
    def is_int(self) -> bool:
        """Whether it was written as a whole number that float64 holds."""
        return self.text.lstrip("-").isdigit()

    @property
    def value(self) -> float:
        """As float64."""
        return float(self.text)


class Text(_Node, frozen=True, tag="str", tag_field="op"):
    """A string literal."""

    value: str


class Truth(_Node, frozen=True, tag="bool", tag_field="op"):
    """True or False."""

    value: bool


class Ref(_Node, frozen=True, tag="ref", tag_field="op"):
    """A name of one part: a field, a param or `success`."""

    name: str


class Signal(_Node, frozen=True, tag="signal", tag_field="op"):
    """A name of two parts: `verifier.signal` or `trace.x`."""

    owner: str
    name: str


class Unary(_Node, frozen=True, tag="unary", tag_field="op"):
    """`-x`, `+x` or `not x`."""

    sign: Literal["-", "+", "not"]
    item: "Expr"


class Binary(_Node, frozen=True, tag="binary", tag_field="op"):
    """Arithmetic."""

    sign: ArithmeticOp
    left: "Expr"
    right: "Expr"


class Compare(_Node, frozen=True, tag="compare", tag_field="op"):
    """A comparison, chained where there are more than two items."""

    signs: tuple[CompareOp, ...]
    items: tuple["Expr", ...]


class Logic(_Node, frozen=True, tag="logic", tag_field="op"):
    """`and` or `or` of two or more."""

    sign: Literal["and", "or"]
    items: tuple["Expr", ...]


class Choose(_Node, frozen=True, tag="if", tag_field="op"):
    """`then if condition else otherwise`."""

    condition: "Expr"
    then: "Expr"
    otherwise: "Expr"


class Keyword(msgspec.Struct, frozen=True, array_like=True):
    """A keyword argument."""

    name: str
    value: "Expr"


class Call(_Node, frozen=True, tag="call", tag_field="op"):
    """A call of a registered name."""

    function: str
    args: tuple["Expr", ...] = ()
    keywords: tuple[Keyword, ...] = ()


class Items(_Node, frozen=True, tag="list", tag_field="op"):
    """A list of literals; only an argument."""

    items: tuple["Expr", ...]


Expr = Num | Text | Truth | Ref | Signal | Unary | Binary | Compare | Logic | Choose | Call | Items
_T = TypeVar("_T", bound=Expr)


def children(node: Expr) -> tuple[Expr, ...]:
    """Return the direct parts of a node, in the order of evaluation."""
    match node:
        case Unary():
            return (node.item,)
        case Binary():
            return (node.left, node.right)
        case Compare() | Logic() | Items():
            return node.items
        case Choose():
            return (node.condition, node.then, node.otherwise)
        case Call():
            return (*node.args, *(keyword.value for keyword in node.keywords))
    return ()


def walk(node: Expr) -> Iterator[Expr]:
    """Yield a node and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def strip(node: _T) -> _T:
    """Return the node without places."""
    parts: dict[str, object] = {"start": 0, "end": 0}
    match node:
        case Unary():
            parts["item"] = strip(node.item)
        case Binary():
            parts |= {"left": strip(node.left), "right": strip(node.right)}
        case Compare() | Logic() | Items():
            parts["items"] = tuple(strip(item) for item in node.items)
        case Choose():
            parts |= {
                "condition": strip(node.condition),
                "then": strip(node.then),
                "otherwise": strip(node.otherwise),
            }
        case Call():
            parts["args"] = tuple(strip(item) for item in node.args)
            parts["keywords"] = tuple(Keyword(keyword.name, strip(keyword.value)) for keyword in node.keywords)
    return msgspec.structs.replace(node, **parts)


def number(value: float | int) -> Num:
    """Return the node of a number."""
    return Num(text=number_text(value))


def number_text(value: float | int) -> str:
    """Return the one spelling of a number."""
    if isinstance(value, int):
        return str(value) if abs(value) <= 2**53 else number_text(_to_float(value))
    if value in (float("inf"), float("-inf")):
        return "1e999" if value > 0 else "-1e999"
    return repr(value + 0.0)


def _to_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
