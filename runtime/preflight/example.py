"""A domain's examples through its compiled reward, with no model and no sandbox.

An example may leave out what its reward does not depend on: behind a closed gate, or behind a `when` that is false. A
name that was left out is tried with several values of its kind; where the reward changes, the example is not complete.
"""

import itertools
from typing import Any

import msgspec

from assay.core.error import VerifierFault
from assay.core.kind import Kind
from assay.core.verdict import Payout
from assay.dsl.expr.node import Ref, Signal, walk
from assay.dsl.program import Example, Program
from assay.dsl.reduce import Grader

# Combinations of values tried for what was left out; more names than this allows are tried one at a time.
_MAX_TRIES = 256
_TOLERANCE = 1e-9


class Outcome(msgspec.Struct, frozen=True):
    """How one example went.

    Attributes:
        name: Of the example.
        expected: Such as `== 1` or `> 0`.
        payout: None where the reward could not be decided.
        problem: Empty where the example holds.
    """

    name: str
    expected: str
    payout: Payout | None
    problem: str


def run_example(grader: Grader, example: Example) -> Outcome:
    """Evaluate one example."""
    expected = f"{example.sign} {example.reward:g}"
    missing = [name for name in used_names(grader.program) if name not in example.given]
    payouts: list[tuple[dict[str, Any], Payout | str]] = []
    for filled in _fillings(missing, grader):
        payouts.append((filled, _pay(grader, {**example.given, **filled})))
    first = payouts[0][1]
    for filled, other in payouts[1:]:
        if _differs(first, other, example):
            return Outcome(example.name, expected, None, f"must give {_culprit(grader, example, missing, filled)}")
    if isinstance(first, str):
        return Outcome(example.name, expected, None, first)
    return Outcome(example.name, expected, first, _judge(example, first))


def used_names(program: Program) -> list[str]:
    """Return the signals (`verifier.signal`) and fields that the reward reads, in order of first use."""
    reward = program.reward
    nodes = [node for gate in reward.gates for node in (gate.condition, gate.otherwise)]
    nodes += [term.value for _, terms in reward.sections() for term in terms]
    nodes += [node for node in (reward.when, reward.success) if node is not None]
    names: dict[str, None] = {}
    for node in nodes:
        for part in walk(node):
            if isinstance(part, Signal):
                names[f"{part.owner}.{part.name}"] = None
            elif isinstance(part, Ref) and part.name in program.fields:
                names[part.name] = None
    return list(names)


def _pay(grader: Grader, given: dict[str, Any]) -> Payout | str:
    signals: dict[str, dict[str, Any]] = {name: {} for name in ("trace", *grader.program.verify)}
    fields: dict[str, Any] = {}
    for name, value in given.items():
        owner, dot, signal = name.partition(".")
        if dot:
            signals.setdefault(owner, {})[signal] = value
        else:
            fields[name] = value
    try:
        return grader.payout(signals, fields)
    except VerifierFault as fault:
        return str(fault)


def _fillings(missing: list[str], grader: Grader) -> list[dict[str, Any]]:
    choices = [_values(_kind(name, grader)) for name in missing]
    count = 1
    for values in choices:
        count *= len(values)
    if count <= _MAX_TRIES:
        return [dict(zip(missing, values, strict=True)) for values in itertools.product(*choices)]
    base = {name: values[0] for name, values in zip(missing, choices, strict=True)}
    others = [{**base, name: value} for name, values in zip(missing, choices, strict=True) for value in values[1:]]
    return [base, *others]


def _kind(name: str, grader: Grader) -> Kind:
    owner, _, signal = name.partition(".")
    kind = grader.scope.kind(Signal(owner=owner, name=signal) if signal else Ref(name=owner))
    assert kind is not None, name
    return kind


def _values(kind: Kind) -> list[Any]:
    """Return values of a kind that would tell a reward that reads them from one that does not."""
    match kind.name:
        case "bool":
            return [False, True]
        case "int" | "float":
            lo = kind.lo if kind.lo is not None else min(0.0, kind.hi or 0.0) - 1.0
            hi = kind.hi if kind.hi is not None else max(0.0, lo) + 1000.0
            cast = int if kind.name == "int" else float
            return list(dict.fromkeys(cast(value) for value in (lo, (lo + hi) / 2, hi)))
        case "literal":
            return list(kind.choices)
        case "optional" if kind.item is not None:
            return [None, *_values(kind.item)]
        case "list" if kind.item is not None:
            return [[], *([value] for value in _values(kind.item))]
    return ["", "another text"]


def _differs(first: Payout | str, other: Payout | str, example: Example) -> bool:
    if isinstance(first, str) or isinstance(other, str):
        return first != other
    is_asked = example.success is not None and first.success != other.success
    return abs(first.reward - other.reward) > _TOLERANCE or is_asked


def _culprit(grader: Grader, example: Example, missing: list[str], filled: dict[str, Any]) -> str:
    """Return the names that the reward turns on, those that do so alone where there are any."""
    base = {name: _values(_kind(name, grader))[0] for name in missing}
    first = _pay(grader, {**example.given, **base})
    alone = [
        name
        for name in missing
        for value in _values(_kind(name, grader))[1:]
        if _differs(first, _pay(grader, {**example.given, **base, name: value}), example)
    ]
    names = list(dict.fromkeys(alone)) or [name for name, value in filled.items() if value != base[name]]
    return ", ".join(f"`{name}`" for name in names)


def miss(sign: str, bound: float, reward: float) -> str:
    """Say in what way a reward misses its bound; empty where it does not."""
    holds = {
        "==": abs(reward - bound) <= _TOLERANCE,
        "<": reward < bound,
        "<=": reward <= bound + _TOLERANCE,
        ">": reward > bound,
        ">=": reward >= bound - _TOLERANCE,
    }[sign]
    return "" if holds else f"reward must be {sign} {bound:g}, got {reward:g}"


def _judge(example: Example, payout: Payout) -> str:
    if problem := miss(example.sign, example.reward, payout.reward):
        return problem
    if example.success is not None and example.success != payout.success:
        return f"success must be {str(example.success).lower()}, got {str(payout.success).lower()}"
    return ""
