"""Conditions of a curriculum: `unlock` and `admit`, and `until`, where calls of stage rules may stand.

In `until`, a call of a registered stage rule stands alone or is a part of `and` and `or`. A rule remembers what it saw,
so it is asked at every step whatever stands beside it; that is why it may not be negated, compared or chosen. To the
checks of conditions it is a truth of which nothing is known.
"""

import math
from collections.abc import Callable, Iterator, Mapping

import msgspec

from assay.core.kind import Kind
from assay.core.registry import Registry
from assay.dsl.expr.check import check_expression
from assay.dsl.expr.fault import Fault, place, place_syntax
from assay.dsl.expr.function import BUILTIN
from assay.dsl.expr.infer import infer
from assay.dsl.expr.interval import Interval
from assay.dsl.expr.narrow import Known
from assay.dsl.expr.node import Call, Expr, Logic, Ref, Signal, strip, walk
from assay.dsl.expr.parse import parse_expression
from assay.dsl.expr.scope import Scope
from assay.dsl.leaf import bind_parsed, make_refusal
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Scalar


def read_condition(
    scalar: Scalar, scope: Scope, registry: Registry, at: str, never: str
) -> tuple[Expr | None, list[Finding]]:
    """Read a condition without stage rules.

    Args:
        scalar: Its text.
        scope: What names stand for.
        registry: What is installed.
        at: Path of the declaration.
        never: What to say where it can never be true.

    Returns:
        The condition, or None where it is faulty, and the findings.
    """
    parsed, findings = _parse(scalar, at)
    if parsed is None:
        return None, findings
    if faults := _misplaced(parsed, registry, "a stage rule has its place in `until` of a stage"):
        return None, [place(fault, scalar, at) for fault in faults]
    return _check(parsed, scalar, scope, at, never, None)


def read_until(
    scalar: Scalar, scope: Scope, registry: Registry, at: str, start: float, played: Mapping[str, float]
) -> tuple[Expr | None, list[Finding]]:
    """Read what ends a stage.

    Args:
        scalar: Its text; not `forever`.
        scope: What names stand for.
        registry: What is installed.
        at: Path of the declaration.
        start: First step at which the stage can begin.
        played: Share of each entry of which the stage plays groups.

    Returns:
        The condition, calls of stage rules in it, or None where it is faulty; and the findings.
    """
    parsed, findings = _parse(scalar, at)
    if parsed is None:
        return None, findings
    calls = tuple(rule_calls(parsed))
    names = {id(call): f"rule {number}" for number, call in enumerate(calls)}
    truths = {**scope.fields, **dict.fromkeys(names.values(), Kind("bool"))}
    rest = replace_calls(parsed, lambda call: Ref(name=names[id(call)], start=call.start, end=call.end))
    inner = msgspec.structs.replace(scope, fields=truths)
    if faults := _misplaced(rest, registry, "a stage rule must stand alone, or as a part of `and` and `or`"):
        return None, [place(fault, scalar, at) for fault in faults]
    for call in calls:
        findings += _check_call(call, scalar, scope, registry, at, played)
    known = {"step": Interval(start, math.inf, is_int=True)}
    sound, found = _check(rest, scalar, inner, at, "write `forever` where that is meant", known)
    findings += found
    if sound is None or findings:
        return (None if sound is None else strip(parsed)), findings
    if infer(sound, inner, BUILTIN, known).interval.lo > 0.0:
        hint = "`step` counts from the start of the run, not of the stage"
        message = (
            f"stage `{at.rpartition('.until')[0].partition('.')[2]}` is over when it begins, at step {start:g} or later"
        )
        findings.append(finding("CU001", scalar.span, message, hint))
    return strip(parsed), findings


def rule_calls(node: Expr) -> Iterator[Call]:
    """Yield the calls of stage rules in a condition: those that are a whole part of its `and` and `or`."""
    if isinstance(node, Logic):
        for item in node.items:
            yield from rule_calls(item)
    elif isinstance(node, Call) and node.function not in BUILTIN:
        yield node


def replace_calls(node: Expr, other: Callable[[Call], Expr]) -> Expr:
    """Return a condition with something else in place of each call that `rule_calls` yields."""
    if isinstance(node, Logic):
        return msgspec.structs.replace(node, items=tuple(replace_calls(item, other) for item in node.items))
    return other(node) if isinstance(node, Call) and node.function not in BUILTIN else node


def _parse(scalar: Scalar, at: str) -> tuple[Expr | None, list[Finding]]:
    parsed, syntax = parse_expression(scalar.text)
    return parsed, [place_syntax(fault, scalar, at) for fault in syntax]


def _check(
    parsed: Expr, scalar: Scalar, scope: Scope, at: str, never: str, known: Known | None
) -> tuple[Expr | None, list[Finding]]:
    typed, faults = check_expression(parsed, scope, BUILTIN, "bool")
    findings = [place(fault, scalar, at) for fault in faults]
    if typed is None:
        return None, findings
    fact = infer(parsed, scope, BUILTIN, known)
    findings += [place(fault, scalar, at) for fault in fact.faults]
    if not fact.faults and fact.interval.hi < 1.0:
        findings.append(finding("CU001", scalar.span, f"`{at}` can never be true", never))
    return strip(parsed), findings


def _check_call(
    call: Call, scalar: Scalar, scope: Scope, registry: Registry, at: str, played: Mapping[str, float]
) -> list[Finding]:
    bound, findings, _ = bind_parsed(call, scalar, "stage_rule", registry, scope, at, fields=False)
    if bound is None:
        return findings
    if refusal := make_refusal(bound):
        findings.append(place(Fault("CU001", call, refusal), scalar, at))
    for node in walk(call):
        if isinstance(node, Signal) and not played.get(node.owner):
            message = f"`{call.function}` would wait for ever: the stage plays no group of `{node.owner}`"
            findings.append(place(Fault("CU001", node, message, "name an entry with a share in it"), scalar, at))
    return findings


def _misplaced(node: Expr, registry: Registry, hint: str) -> list[Fault]:
    rules = set(registry.names("stage_rule")) - set(BUILTIN)
    return [
        Fault("RX002", part, f"the stage rule `{part.function}` has no place here", hint)
        for part in walk(node)
        if isinstance(part, Call) and part.function in rules
    ]
