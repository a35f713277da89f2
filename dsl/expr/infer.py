"""Ranges and directions of a well-typed expression: RX005, and what every RW check rests on.

One walk under what earlier gates and enclosing conditions let be known. Of a branch that cannot be reached nothing is
said.
"""

from collections.abc import Mapping

import msgspec

from assay.dsl.expr import interval as iv
from assay.dsl.expr import sign as sg
from assay.dsl.expr.fault import Fault
from assay.dsl.expr.function import Entry, Ranged, bind
from assay.dsl.expr.interval import Interval
from assay.dsl.expr.narrow import Known, look_up, narrow
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
    Truth,
    Unary,
)
from assay.dsl.expr.scope import Scope, key, kind_interval
from assay.dsl.expr.sign import Signs


class Fact(msgspec.Struct, frozen=True):
    """What is proved of one expression.

    Attributes:
        interval: All values.
        signs: How it follows each signal and field.
        faults: RX005.
    """

    interval: Interval
    signs: Signs
    faults: tuple[Fault, ...] = ()


def infer(node: Expr, scope: Scope, functions: Mapping[str, Entry], known: Known | None = None) -> Fact:
    """Return range, directions and RX005 faults of an expression that `check_expression` accepted."""
    walker = _Walker(scope, functions)
    interval, signs = walker.visit(node, known or {})
    return Fact(interval, signs, tuple(walker.faults.values()))


class _Walker:
    def __init__(self, scope: Scope, functions: Mapping[str, Entry]) -> None:
        self.scope = scope
        self.functions = functions
        self.faults: dict[tuple[int, int], Fault] = {}

    def visit(self, node: Expr, known: Known) -> Ranged:
        interval, signs = self.rule(node, known)
        return interval, {} if interval.is_point else signs

    def rule(self, node: Expr, known: Known) -> Ranged:
        match node:
            case Num():
                return iv.point(node.value, is_int=node.is_int), {}
            case Truth():
                return (iv.TRUE if node.value else iv.FALSE), {}
            case Ref() | Signal():
                return self.name(node, known)
            case Unary():
                return self.unary(node, known)
            case Binary():
                return self.binary(node, known)
            case Compare():
                return self.compare(node, known)
            case Logic():
                return self.logic(node, known)
            case Choose():
                return self.choose(node, known)
            case Call():
                return self.call(node, known)
            case Items():
                parts = [self.visit(item, known)[0] for item in node.items]
                return (iv.hull(*parts) if parts else iv.ANY), {}
        return iv.ANY, {}

    def name(self, node: Ref | Signal, known: Known) -> Ranged:
        if isinstance(node, Ref) and node.name == "success" and self.scope.success is not None:
            # Its own faults are reported where it is written.
            return _Walker(self.scope, self.functions).visit(self.scope.success, known)
        if isinstance(node, Ref) and node.name == "success":
            return iv.BOOL, {}  # in a gate before the default, which asks the outcome below it
        if isinstance(node, Ref) and node.name in self.scope.params:
            return self.scope.interval(node), {}
        kind = self.scope.kind(node)
        signs = {key(node): "+"}
        if kind is not None and kind.name == "list" and kind.item is not None:
            return kind_interval(kind.item), signs
        if kind is not None and not kind.is_number:
            return iv.ANY, sg.unknown(signs)
        return look_up(node, known, self.scope), signs

    def unary(self, node: Unary, known: Known) -> Ranged:
        interval, signs = self.visit(node.item, known)
        if node.sign == "not":
            return iv.subtract(iv.TRUE, interval), sg.flip(signs)
        return (iv.negate(interval), sg.flip(signs)) if node.sign == "-" else (interval, signs)

    def binary(self, node: Binary, known: Known) -> Ranged:
        (a, a_signs), (b, b_signs) = self.visit(node.left, known), self.visit(node.right, known)
        match node.sign:
            case "+":
                return iv.add(a, b), sg.join(a_signs, b_signs)
            case "-":
                return iv.subtract(a, b), sg.join(a_signs, sg.flip(b_signs))
            case "*":
                return iv.multiply(a, b), sg.product(a_signs, a, b_signs, b)
        if b.has_zero:
            hint = "guard it: `x/n if n > 0 else 0`"
            return self.refuse(node, f"division by something that can be 0, got {b}", hint, a_signs, b_signs)
        return iv.divide(a, b), sg.quotient(a_signs, a, b_signs, b)

    def compare(self, node: Compare, known: Known) -> Ranged:
        parts = [self.visit(item, known) for item in node.items]
        truth, signs = iv.TRUE, []
        for sign, (a, a_signs), (b, b_signs) in zip(node.signs, parts, parts[1:], strict=False):
            link = iv.compare(sign, a, b)
            truth = iv.minimum(truth, link)
            if link.is_point:
                continue
            if sign in (">", ">="):
                signs.append(sg.join(a_signs, sg.flip(b_signs)))
            elif sign in ("<", "<="):
                signs.append(sg.join(sg.flip(a_signs), b_signs))
            else:
                signs.append(sg.unknown(a_signs, b_signs))
        return truth, sg.join(*signs)

    def logic(self, node: Logic, known: Known) -> Ranged:
        """`and` sees its later parts only where the earlier hold; `or` where they do not."""
        is_and = node.sign == "and"
        parts: list[Ranged] = []
        here: Known | None = known
        for item in node.items:
            if here is None:
                break
            parts.append(self.visit(item, here))
            here = narrow(item, here, self.scope, holds=is_and)
        intervals = [part[0] for part in parts]
        truth = iv.minimum(*intervals) if is_and else iv.maximum(*intervals)
        if here is None and not truth.is_point:
            # Not all parts can hold (or fail) together.
            truth = iv.FALSE if is_and else iv.TRUE
        return truth, sg.join(*(part[1] for part in parts))

    def choose(self, node: Choose, known: Known) -> Ranged:
        condition, condition_signs = self.visit(node.condition, known)
        yes = narrow(node.condition, known, self.scope, holds=True) if condition.hi > 0.0 else None
        no = narrow(node.condition, known, self.scope, holds=False) if condition.lo < 1.0 else None
        then = None if yes is None else self.visit(node.then, yes)
        otherwise = None if no is None else self.visit(node.otherwise, no)
        if then is None or otherwise is None:
            return then or otherwise or (iv.ANY, {})
        signs = sg.choice(condition_signs, then[1], then[0], otherwise[1], otherwise[0])
        return iv.hull(then[0], otherwise[0]), signs

    def call(self, node: Call, known: Known) -> Ranged:
        entry = self.functions[node.function]
        args = [*node.args, *(keyword.value for keyword in node.keywords)]
        places = bind(entry, len(node.args), [keyword.name for keyword in node.keywords])
        assert not isinstance(places, str)
        facts = [self.visit(arg, known) for arg in args]
        ordered = [fact for _, fact in sorted(zip(places, facts, strict=True), key=lambda pair: pair[0])]
        reason = entry.refuses([fact[0] for fact in ordered]) if entry.refuses is not None else None
        if reason is not None:
            return self.refuse(node, reason, "guard it with a condition", *(fact[1] for fact in ordered))
        return entry.fact(ordered)

    def refuse(self, node: Expr, message: str, hint: str, *signs: Signs) -> Ranged:
        if not self.has_fault_inside(node):
            self.faults[node.start, node.end] = Fault("RX005", node, message, hint)
        return iv.ANY, sg.unknown(*signs)

    def has_fault_inside(self, node: Expr) -> bool:
        return any(node.start <= start and end <= node.end for start, end in self.faults)
