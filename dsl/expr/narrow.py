"""Narrowing: what a condition that holds says about single names.

`s > c`, `c < s`, chains of them, `s`, `not s`, `and`, and the negation of `or`, where `s` is a signal or field and `c`
has one value. Everything else says nothing.
"""

from collections.abc import Mapping

from assay.dsl.expr import interval as iv
from assay.dsl.expr.interval import Interval
from assay.dsl.expr.node import Compare, Expr, Logic, Num, Ref, Signal, Truth, Unary
from assay.dsl.expr.scope import Scope, key

Known = Mapping[str, Interval]  # name -> what is known of it beyond its declaration

_TURN = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_NOT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def narrow(condition: Expr, known: Known, scope: Scope, *, holds: bool) -> Known | None:
    """Return what is known where a condition holds (or does not); None where that cannot be."""
    if isinstance(condition, Ref) and condition.name == "success" and scope.success is not None:
        return narrow(scope.success, known, scope, holds=holds)
    match condition:
        case Unary(sign="not"):
            return narrow(condition.item, known, scope, holds=not holds)
        case Logic():
            if (condition.sign == "and") == holds:
                narrowed: Known | None = known
                for item in condition.items:
                    narrowed = None if narrowed is None else narrow(item, narrowed, scope, holds=holds)
                return narrowed
            return _either(condition, known, scope, holds=holds)
        case Ref() | Signal():
            kind = scope.kind(condition)
            if kind is None or kind.name != "bool":
                return known
            return _meet(condition, iv.TRUE if holds else iv.FALSE, known, scope)
        case Compare():
            return _compare(condition, known, scope, holds=holds)
    return known


def look_up(node: Ref | Signal, known: Known, scope: Scope) -> Interval:
    """Return all values a name can take here."""
    return known.get(key(node)) or scope.interval(node)


def constant(node: Expr, scope: Scope) -> float | None:
    """Return the value of a literal, a truth, a param or their negation; None for anything else."""
    match node:
        case Num():
            return node.value
        case Truth():
            return float(node.value)
        case Ref() if node.name in scope.params:
            return float(scope.params[node.name])
        case Unary(sign="-" | "+"):
            value = constant(node.item, scope)
            return None if value is None else -value if node.sign == "-" else value
    return None


def _either(condition: Logic, known: Known, scope: Scope, *, holds: bool) -> Known | None:
    """One of several alternatives holds: only the hull of what each says remains."""
    options = [narrow(item, known, scope, holds=holds) for item in condition.items]
    possible = [option for option in options if option is not None]
    if not possible:
        return None
    shared = set.intersection(*(set(option) for option in possible))
    return {**known, **{name: iv.hull(*(option[name] for option in possible)) for name in shared}}


def _compare(condition: Compare, known: Known, scope: Scope, *, holds: bool) -> Known | None:
    if not holds and len(condition.signs) > 1:
        return known  # the negation of a chain is an `or` of its links
    narrowed: Known | None = known
    for sign, left, right in zip(condition.signs, condition.items, condition.items[1:], strict=False):
        for name, other, turned in ((left, right, sign), (right, left, _TURN[sign])):
            value = constant(other, scope)
            if narrowed is None or value is None or not isinstance(name, (Ref, Signal)):
                continue
            if isinstance(name, Ref) and (name.name in scope.params or name.name == "success"):
                continue
            kind = scope.kind(name)
            if kind is None or not kind.is_number:
                continue
            narrowed = _against(name, turned if holds else _NOT[turned], value, narrowed, scope)
    return narrowed


def _against(name: Ref | Signal, sign: str, value: float, known: Known, scope: Scope) -> Known | None:
    current = look_up(name, known, scope)
    match sign:
        case "<" | "<=":
            allowed = iv.below(value, strict=sign == "<", is_int=current.is_int)
        case ">" | ">=":
            allowed = iv.above(value, strict=sign == ">", is_int=current.is_int)
        case "==":
            allowed = iv.point(value)
        case _:
            return _differs(name, value, current, known)
    return _meet(name, allowed, known, scope)


def _differs(name: Ref | Signal, value: float, current: Interval, known: Known) -> Known | None:
    lo, hi = current.lo, current.hi
    if lo == value:
        lo = iv.above(value, strict=True, is_int=current.is_int).lo
    if hi == value:
        hi = iv.below(value, strict=True, is_int=current.is_int).hi
    if lo > hi:
        return None
    return {**known, key(name): Interval(lo, hi, current.is_int, current.is_nonzero or value == 0.0)}


def _meet(name: Ref | Signal, allowed: Interval, known: Known, scope: Scope) -> Known | None:
    met = iv.meet(look_up(name, known, scope), allowed)
    if met is not None and met.is_point and met.is_nonzero and met.lo == 0.0:
        return None
    return None if met is None else {**known, key(name): met}
