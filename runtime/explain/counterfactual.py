"""What the reward would have been: one signal moved at a time, through the scalar back end.

A signal is moved to values that mean something: the other truth value, the places where the reward's expressions change
their course, values that siblings reached, and the ends of its range. Nothing else is moved with it, so that a move
that could not happen alone is still shown alone. One exception: an episode of several turns that stops earlier has
fewer turns, tokens and calls at once, as its trajectory has them.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assay.core.error import VerifierFault
from assay.core.kind import Kind
from assay.dsl.change import signals_read
from assay.dsl.expr.narrow import constant
from assay.dsl.expr.node import Binary, Call, Compare, Expr, Signal, walk
from assay.dsl.expr.scope import Scope
from assay.dsl.program import Program
from assay.dsl.reduce import Grader, Signals
from assay.runtime.explain.stop import COUNTERS, Stop

_TOLERANCE = 1e-9
# An episode has at least one turn, and a turn at least one token.
_LEAST = {"trace.turns": 1, "trace.tokens": 1, "trace.prompt_tokens": 1}


class Counterfactual(msgspec.Struct, frozen=True):
    """One signal at another value.

    Attributes:
        signal: Which, `verifier.signal` or `trace.x`.
        value: Its other value.
        was: As it was.
        reward: What would have been paid; None where that needs signals that were not measured.
        gain: By how much it would have been higher; negative where lower.
        missing: What would have had to be measured.
        trace: Counters that move together; empty where one signal moves alone.
    """

    signal: str
    value: Any
    was: Any
    reward: float | None
    gain: float | None
    missing: tuple[str, ...] = ()
    trace: dict[str, Any] = {}

    @property
    def text(self) -> str:
        """One line, such as `0.4 higher had ans.equal been true`."""
        had = _had(self.signal, self.value, self.was)
        if self.gain is None:
            return f"not known had {had}: {', '.join(self.missing)} was not measured"
        return f"{abs(self.gain):.4g} {'higher' if self.gain > 0 else 'lower'} had {had}"


def counterfactuals(
    grader: Grader,
    signals: Signals,
    fields: Mapping[str, Any],
    siblings: Sequence[Signals] = (),
    stops: Sequence[Stop] = (),
) -> list[Counterfactual]:
    """Return the moves that would have changed the reward, the largest gain first.

    Per signal there is the move that gains most; beside it the one that gains most per unit moved, and the best that a
    sibling reached, where these are others; the nearest loss where nothing gains.

    Args:
        grader: Of the program.
        signals: As measured.
        fields: Of the task.
        siblings: Signals of other episodes of the task.
        stops: Earlier ends of an episode of several turns; they stand for smaller counters.
    """
    now = grader.payout(signals, fields).reward
    found = _stops(grader, signals, fields, stops, now)
    for owner, names in signals_read(grader.program).items():
        for name in names:
            if owner in signals and name in signals[owner]:
                is_stopped = bool(stops) and owner == "trace" and name in COUNTERS
                found += _moves(grader, signals, fields, siblings, (owner, name), now, is_stopped)
    return sorted(found, key=lambda one: -math.inf if one.gain is None else -one.gain)


def _moves(
    grader: Grader,
    signals: Signals,
    fields: Mapping[str, Any],
    siblings: Sequence[Signals],
    key: tuple[str, str],
    now: float,
    is_stopped: bool,
) -> list[Counterfactual]:
    owner, name = key
    was = signals[owner][name]
    kind = grader.scope.kind(Signal(owner=owner, name=name))
    assert kind is not None
    reached = [one[owner][name] for one in siblings if owner in one and name in one[owner]]
    tried = []
    for value in _values(grader.program, kind, key, was, reached):
        if is_stopped and value < was:
            continue
        moved = {**signals, owner: {**signals[owner], name: value}}
        tried.append(_tried(grader, moved, fields, f"{owner}.{name}", value, was, now))
    return _choose(tried, reached)


def _stops(
    grader: Grader, signals: Signals, fields: Mapping[str, Any], stops: Sequence[Stop], now: float
) -> list[Counterfactual]:
    was = signals["trace"]
    read = signals_read(grader.program).get("trace", ())
    tried = []
    for stop in stops:
        moved = {**signals, "trace": {**was, **stop.trace}}
        one = _tried(grader, moved, fields, "trace.turns", stop.turn, was["turns"], now)
        changed = {name: value for name, value in stop.trace.items() if name in read and value != was[name]}
        tried.append(msgspec.structs.replace(one, trace=changed))
    return _choose(tried, ())


def _choose(tried: Sequence[Counterfactual], reached: Sequence[Any]) -> list[Counterfactual]:
    """Return the largest gain, the steepest, the best that a sibling reached; the nearest loss where nothing gains."""
    gains = [one for one in tried if one.gain is not None and one.gain > _TOLERANCE]
    losses = [one for one in tried if one.gain is not None and one.gain < -_TOLERANCE]
    unknown = [one for one in tried if one.gain is None]
    chosen: list[Counterfactual] = []
    if gains:
        most = max(gains, key=lambda one: (_rounded(one), -_distance(one)))
        steepest = max(gains, key=lambda one: (_slope(one), _rounded(one)))
        sibling = max(
            (one for one in gains if one.value in reached),
            key=lambda one: (_rounded(one), -_distance(one)),
            default=most,
        )
        chosen = [most]
        chosen += [steepest] if _slope(steepest) > _slope(most) * (1 + _TOLERANCE) else []
        chosen += [sibling] if sibling.value not in [one.value for one in chosen] else []
    elif losses:
        chosen = [min(losses, key=_distance)]
    return [*chosen, *unknown[:1]]


def _tried(
    grader: Grader, signals: Signals, fields: Mapping[str, Any], name: str, value: Any, was: Any, now: float
) -> Counterfactual:
    if missing := grader.needs(signals, fields):
        return Counterfactual(name, value, was, None, None, missing)
    try:
        reward = grader.payout(signals, fields).reward
    except VerifierFault:
        return Counterfactual(name, value, was, now, 0.0)  # a value that cannot be paid is no alternative
    return Counterfactual(name, value, was, reward, reward - now)


def _values(program: Program, kind: Kind, key: tuple[str, str], was: Any, reached: Sequence[Any]) -> list[Any]:
    """Return other values worth trying, without doubles."""
    if kind.name == "bool":
        return [not was]
    if kind.name == "literal":
        return [choice for choice in kind.choices if choice != was]
    found: list[Any] = list(reached)
    if kind.name in ("int", "float"):
        lo = max(kind.lo if kind.lo is not None else -math.inf, _LEAST.get(".".join(key), -math.inf))
        hi = math.inf if kind.hi is None else kind.hi
        step = 1.0 if kind.name == "int" else 0.0
        for edge in (*_edges(program, key), lo, hi):
            around = (edge - step, edge, edge + step) if step else (_below(edge), edge, _above(edge))
            found += [value for value in around if math.isfinite(value)]
        found = [int(value) if kind.name == "int" else float(value) for value in found if lo <= value <= hi]
    return [value for value in _unique(found) if value != was]


def _edges(program: Program, key: tuple[str, str]) -> list[float]:
    """Return where a signal, or the signal scaled and shifted, meets a constant it is compared with or capped at."""
    scope = Grader(program).scope
    reward = program.reward
    nodes: list[Expr] = [gate.condition for gate in reward.gates]
    nodes += [term.value for _, terms in reward.sections() for term in terms]
    nodes += [node for node in (reward.when, reward.success) if node is not None]
    found: list[float] = []
    for node in nodes:
        for part in walk(node):
            items = part.items if isinstance(part, Compare) else part.args if isinstance(part, Call) else ()
            lines = [line for item in items if (line := _line(item, key, scope)) is not None]
            constants = [value for item in items if (value := constant(item, scope)) is not None]
            found += [(value - shift) / slope for slope, shift in lines for value in constants]
    return found


def _line(node: Expr, key: tuple[str, str], scope: Scope) -> tuple[float, float] | None:
    """Return slope and shift of a node that is the signal, or the signal with constants; None for all others."""
    if isinstance(node, Signal):
        return (1.0, 0.0) if (node.owner, node.name) == key else None
    if not isinstance(node, Binary):
        return None
    left, right = _line(node.left, key, scope), _line(node.right, key, scope)
    line, other = (left, constant(node.right, scope)) if left is not None else (right, constant(node.left, scope))
    if line is None or other is None:
        return None
    slope, shift = line
    match node.sign:
        case "+":
            return slope, shift + other
        case "-":
            return (slope, shift - other) if left is not None else (-slope, other - shift)
        case "*" if other:
            return slope * other, shift * other
        case "/" if other and left is not None:
            return slope / other, shift / other
    return None


def _below(value: float) -> float:
    return math.nextafter(value, -math.inf)


def _above(value: float) -> float:
    return math.nextafter(value, math.inf)


def _unique(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _rounded(one: Counterfactual) -> float:
    """Return the gain, equal where only rounding differs."""
    return round(one.gain or 0.0, 9)


def _slope(one: Counterfactual) -> float:
    """Return the gain per unit moved."""
    return (one.gain or 0.0) / (_distance(one) or 1.0)


def _distance(one: Counterfactual) -> float:
    is_number = isinstance(one.value, (int, float)) and isinstance(one.was, (int, float))
    return abs(one.value - one.was) if is_number else 0.0


def _had(signal: str, value: Any, was: Any) -> str:
    if signal == "trace.turns":
        return f"it stopped at turn {value}" if value < was else f"it gone on to turn {value}"
    if signal == "trace.tokens" and value < was:
        return f"it said the same in {value} token{'s' * (value != 1)}"
    if signal == "trace.truncated":
        return "it been cut off" if value else "it come to its end"
    if isinstance(value, bool):
        return f"{signal} been {str(value).lower()}"
    return f"{signal} been {value:.6g}" if isinstance(value, float) else f"{signal} been {value!r}"
