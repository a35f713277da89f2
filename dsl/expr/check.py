"""Names, types and units of an expression: RX001, RX003, RX004, RX006.

One walk, leaves first. A node with a faulty part reports nothing itself.
"""

from collections.abc import Mapping, Sequence

from assay.core.kind import Kind
from assay.core.name import suggestion
from assay.dsl.expr import unit as un
from assay.dsl.expr.fault import Fault
from assay.dsl.expr.function import BOOLS, NUMBER, NUMBERS, SIZED, Entry, bind
from assay.dsl.expr.node import (
    Binary,
    Call,
    Choose,
    Compare,
    Expr,
    Items,
    Logic,
    Num,
    Ref,
    Signal,
    Text,
    Truth,
    Unary,
)
from assay.dsl.expr.scope import Scope
from assay.dsl.expr.unit import Measure

Typed = tuple[Kind, Measure]

# Names that mean something elsewhere.
HINTS = {
    "success": "declare `success:` under `reward`: without it, it is the outcome at its upper end",
    "true": "write True",
    "false": "write False",
}

_BOOL, _INT, _FLOAT, _STR = Kind("bool"), Kind("int"), Kind("float"), Kind("str")


def check_expression(
    node: Expr, scope: Scope, functions: Mapping[str, Entry], expects: str
) -> tuple[Typed | None, list[Fault]]:
    """Check names, types and units.

    Args:
        node: A parsed expression.
        scope: What names stand for.
        functions: Callable functions by name.
        expects: `bool`, `number` (that can be read without a unit) or `any`.

    Returns:
        Kind and measure, or None where the expression is faulty or uses a faulty declaration; and the faults.
    """
    checker = _Checker(scope, functions)
    typed = checker.visit(node)
    if typed is None:
        return None, checker.faults
    kind, measure = typed
    if expects == "bool" and kind.name != "bool":
        checker.fault("RX003", node, f"must be a condition (bool), got {kind}", "compare it with something")
    elif expects == "number" and not kind.is_number:
        checker.fault("RX003", node, f"must be a number, got {kind}")
    elif expects == "number" and not un.can_be_pure(measure):
        hint = "multiply it by a bare number that says what one is worth"
        checker.fault("RX004", node, f"must be readable without a unit, got {un.show(measure)}", hint)
    return (None if checker.faults else typed), checker.faults


class _Checker:
    def __init__(self, scope: Scope, functions: Mapping[str, Entry]) -> None:
        self.scope = scope
        self.functions = functions
        self.faults: list[Fault] = []

    def fault(self, code: str, node: Expr, message: str, hint: str = "") -> Typed | None:
        self.faults.append(Fault(code, node, message, hint))
        return None

    def visit(self, node: Expr) -> Typed | None:
        match node:
            case Num():
                return (_INT if node.is_int else _FLOAT), un.BARE
            case Text():
                return _STR, un.PURE
            case Truth():
                return _BOOL, un.PURE
            case Ref() | Signal():
                return self.name(node)
            case Unary():
                return self.unary(node)
            case Binary():
                return self.binary(node)
            case Compare():
                return self.compare(node)
            case Logic():
                parts = [self.condition(item) for item in node.items]
                return (_BOOL, un.PURE) if all(parts) else None
            case Choose():
                return self.choose(node)
            case Call():
                return self.call(node)
            case Items():
                return Kind("list", item=_item(node)), un.BARE

    def name(self, node: Ref | Signal) -> Typed | None:
        owner = node.owner if isinstance(node, Signal) else node.name
        if owner in self.scope.faulty:
            return None
        if isinstance(node, Signal):
            specs = self.scope.signals.get(owner)
            if specs is None:
                unknown = "unknown verifier" if "trace" in self.scope.signals else "unknown entry"
                what = "a field or param has no signals" if self.scope.kind(Ref(name=owner)) else unknown
                return self.fault("RX001", node, f"{what}: `{owner}`", suggestion(owner, self.scope.signals))
            spec = specs.get(node.name)
            if spec is None:
                message = f"`{owner}` has no signal `{node.name}`"
                return self.fault("RX001", node, message, suggestion(node.name, specs))
            return spec.kind, un.of_signal(spec.unit) if spec.kind.name != "bool" else un.PURE
        if owner in self.scope.signals:
            specs = self.scope.signals[owner]
            hint = f"name one of its signals: {', '.join(f'{owner}.{name}' for name in list(specs)[:4])}"
            return self.fault("RX003", node, f"`{owner}` is a verifier, not a value", hint)
        kind = self.scope.kind(node)
        if kind is None:
            hint = suggestion(owner, self.scope.names())
            hint = HINTS.get(owner, hint)
            return self.fault("RX001", node, f"unknown name `{owner}`", hint)
        return kind, un.PURE if owner == "success" else un.BARE

    def condition(self, node: Expr) -> bool:
        typed = self.visit(node)
        if typed is not None and typed[0].name != "bool":
            self.fault("RX003", node, f"must be a condition (bool), got {typed[0]}", "compare it with something")
            return False
        return typed is not None

    def number(self, node: Expr) -> Typed | None:
        typed = self.visit(node)
        if typed is not None and not typed[0].is_number:
            return self.fault("RX003", node, f"must be a number, got {typed[0]}")
        return typed

    def unary(self, node: Unary) -> Typed | None:
        if node.sign == "not":
            return (_BOOL, un.PURE) if self.condition(node.item) else None
        typed = self.number(node.item)
        return None if typed is None else (_arithmetic(typed[0]), typed[1])

    def binary(self, node: Binary) -> Typed | None:
        left, right = self.number(node.left), self.number(node.right)
        if left is None or right is None:
            return None
        is_int = node.sign != "/" and all(kind.name in ("int", "bool") for kind in (left[0], right[0]))
        kind = _INT if is_int else _FLOAT
        if node.sign == "*":
            return kind, un.multiply(left[1], right[1])
        if node.sign == "/":
            return kind, un.divide(left[1], right[1])
        measure = self.agree(node, [left, right])
        return None if measure == frozenset() else (kind, measure)

    def agree(self, node: Expr, parts: Sequence[Typed]) -> Measure:
        """Return the shared measure; RX004 and an empty one where there is none."""
        measure: Measure = un.BARE
        for _, other in parts:
            met = un.unify(measure, other)
            if met == frozenset():
                hint = "multiply each by a bare number that says what one is worth"
                self.fault("RX004", node, f"units must be equal, got {un.show(measure)} and {un.show(other)}", hint)
                return frozenset()
            measure = met
        return measure

    def compare(self, node: Compare) -> Typed | None:
        parts = [self.visit(item) for item in node.items]
        typed = [part for part in parts if part is not None]
        if len(typed) != len(parts):
            return None
        for sign, (left, _), (right, _) in zip(node.signs, typed, typed[1:], strict=False):
            if left.is_number and right.is_number:
                continue
            if _is_text(left) and _is_text(right) and sign in ("==", "!="):
                continue
            what = f"{left} {sign} {right}"
            return self.fault("RX003", node, f"must compare numbers, or texts with == and !=, got {what}") or None
        numbers = [part for part in typed if part[0].is_number]
        return None if self.agree(node, numbers) == frozenset() else (_BOOL, un.PURE)

    def choose(self, node: Choose) -> Typed | None:
        is_condition = self.condition(node.condition)
        then, otherwise = self.visit(node.then), self.visit(node.otherwise)
        if not is_condition or then is None or otherwise is None:
            return None
        if then[0].is_number and otherwise[0].is_number:
            measure = self.agree(node, [then, otherwise])
            return None if measure == frozenset() else (_joined(then[0], otherwise[0]), measure)
        if _is_text(then[0]) and _is_text(otherwise[0]):
            return _STR, un.PURE
        return self.fault("RX003", node, f"both branches must have one type, got {then[0]} and {otherwise[0]}")

    def call(self, node: Call) -> Typed | None:
        args = [*node.args, *(keyword.value for keyword in node.keywords)]
        typed = [self.visit(arg) for arg in args]
        known = [part for part in typed if part is not None]
        if len(known) != len(typed):
            return None
        entry = self.functions.get(node.function)
        if entry is None:
            hint = suggestion(node.function, self.functions)
            return self.fault("RX006", node, f"unknown function `{node.function}`", hint)
        places = bind(entry, len(node.args), [keyword.name for keyword in node.keywords])
        if isinstance(places, str):
            return self.fault("RX006", node, places)
        faults = len(self.faults)
        for place, arg, part in zip(places, args, known, strict=True):
            wanted = entry.takes[min(place, len(entry.takes) - 1)]
            if not _takes(wanted, part[0]):
                self.fault("RX003", arg, f"`{node.function}` takes a {wanted}, got {part[0]}")
        if len(self.faults) > faults:
            return None
        return self.result(node, entry, known)

    def result(self, node: Call, entry: Entry, parts: Sequence[Typed]) -> Typed | None:
        kind = entry.gives
        if kind is None:
            kind = _FLOAT if any(part[0].name == "float" for part in parts) else _INT
        if entry.unit == "none":
            is_bare = entry.name in ("len", "count") and parts[0][1] is None
            return kind, un.BARE if is_bare else un.PURE
        measure = self.agree(node, parts)
        if measure == frozenset():
            return None
        return kind, (un.PURE if measure is not None else un.BARE) if entry.unit == "ratio" else measure


def _item(node: Items) -> Kind | None:
    """Return the kind of what a list of literals holds; None where there is no single one."""
    kinds = {"bool" if isinstance(i, Truth) else "str" if isinstance(i, Text) else "float" for i in node.items}
    return Kind(kinds.pop()) if len(kinds) == 1 else None


def _arithmetic(kind: Kind) -> Kind:
    return _FLOAT if kind.name == "float" else _INT


def _joined(a: Kind, b: Kind) -> Kind:
    if a.name == b.name == "bool":
        return _BOOL
    return _FLOAT if "float" in (a.name, b.name) else _INT


def _is_text(kind: Kind) -> bool:
    return kind.is_text or (kind.name == "optional" and kind.item is not None and kind.item.is_text)


def _takes(wanted: str, kind: Kind) -> bool:
    item = kind.item.name if kind.item is not None else ""
    match wanted:
        case "number":
            return kind.is_number
        case "list[bool]":
            return kind.name == "list" and item == "bool"
        case "list of numbers":
            return kind.name == "list" and item in ("bool", "int", "float")
    return kind.name == "list" or kind.is_text


assert {BOOLS, NUMBER, NUMBERS, SIZED} == {"list[bool]", "number", "list of numbers", "list or text"}
