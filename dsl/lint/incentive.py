"""RW021, RW022, RW023: what a policy would learn that nobody meant."""

import itertools
import math
from collections.abc import Iterator, Mapping

from assay.dsl.analysis import TOLERANCE, Analysis, TermFact
from assay.dsl.expr.function import Entry
from assay.dsl.expr.infer import infer
from assay.dsl.expr.interval import INF, Interval
from assay.dsl.expr.linear import only_signal
from assay.dsl.expr.narrow import Known, look_up
from assay.dsl.expr.node import Expr, Ref, Signal, walk
from assay.dsl.expr.scope import Scope, key
from assay.dsl.lint.reward import whole
from assay.dsl.source.diagnostic import Finding, finding

_EFFORT = ("trace.turns", "trace.tokens")
MAX_LEVELS = 4096
# Points at which `when` is tried, and how far out a range without an end is tried.
MAX_POINTS = 729
FAR = 1e6


def lint_incentive(analysis: Analysis, functions: Mapping[str, Entry]) -> Iterator[Finding]:
    """Report give-up incentives, rewards with one level and terms that say the same thing twice."""
    yield from _give_up(analysis, functions)
    if _has_one_level(analysis, functions):
        first = analysis.section("outcome")[0]
        message = "a reward must have at least two levels, got one whatever the episode does"
        yield finding("RW022", whole(first.formula), message, "let it depend on a signal", "reward")
    yield from _doubled(analysis)


def _give_up(analysis: Analysis, functions: Mapping[str, Entry]) -> Iterator[Finding]:
    """RW021: with the outcome at its floor, going on costs and stopping does not."""
    task = _task(analysis)
    known = _at_floor(analysis, functions, task)
    when_reaches_floor = _when_reaches_floor(analysis, functions, task)
    for term in analysis.terms:
        if term.section == "outcome" or (term.section == "efficiency" and not when_reaches_floor):
            continue
        if term.formula.node is None:
            continue
        here = known if term.section == "process" else {**(analysis.known_when or {}), **known}
        fact = infer(term.formula.node, analysis.scope, functions, here)
        for name in _EFFORT:
            if fact.signs.get(name) == "-":
                message = f"with the outcome at its floor this term only falls in `{name}`: giving up early pays"
                hint = "guard it: efficiency with `when: success`"
                yield finding("RW021", whole(term.formula), message, hint, term.formula.at)
                break


def _task(analysis: Analysis) -> dict[str, Interval]:
    """Return one task to look at: fields at their upper ends, for the policy does not choose them.

    At a weight of 0 the outcome's floor is its top, and every guard would seem to reach it.
    """
    task: dict[str, Interval] = {}
    for name, kind in analysis.scope.fields.items():
        if kind.is_number:
            current = look_up(Ref(name=name), analysis.known_open, analysis.scope)
            end = current.hi if current.hi < INF else current.lo if current.lo > -INF else 1.0
            task[name] = Interval(end, end, current.is_int)
    return task


def _when_reaches_floor(analysis: Analysis, functions: Mapping[str, Entry], task: Known) -> bool:
    """Return whether `when` is shown to hold somewhere with the outcome at its floor, by a point where it does."""
    guard = analysis.guard
    if guard is None or analysis.known_when is None:
        return analysis.known_when is not None
    scope = analysis.scope
    outcome = [term.formula.node for term in analysis.section("outcome") if term.formula.node is not None]
    known = {**analysis.known_open, **task}
    floor = sum(infer(node, scope, functions, known).interval.lo for node in outcome)
    success = [] if scope.success is None else [scope.success]
    names = {key(name): name for node in (*outcome, guard, *success) for name in _names(node)}
    ranges = {name: look_up(node, known, scope) for name, node in names.items() if _is_free(node, scope)}
    points = [_points(current) for current in ranges.values()]
    if math.prod(map(len, points)) > MAX_POINTS:
        points = [(choices[0], choices[-1]) for choices in points]
    if math.prod(map(len, points)) > MAX_POINTS:
        return False
    for chosen in itertools.product(*points):
        here = {**known, **{n: Interval(v, v, r.is_int) for v, (n, r) in zip(chosen, ranges.items(), strict=True)}}
        value = sum(infer(node, scope, functions, here).interval.lo for node in outcome)
        if value <= floor + TOLERANCE and infer(guard, scope, functions, here).interval.hi > 0.0:
            return True
    return False


def _is_free(node: Ref | Signal, scope: Scope) -> bool:
    kind = scope.kind(node)
    is_name = isinstance(node, Signal) or node.name in scope.fields
    return is_name and kind is not None and kind.is_number


def _points(current: Interval) -> tuple[float, ...]:
    """Return values to try: the ends and the middle, far out where there is no end."""
    lo = current.lo if current.lo > -INF else min(current.hi, 0.0) - FAR
    hi = current.hi if current.hi < INF else max(current.lo, 0.0) + FAR
    middle = (lo + hi) / 2
    return tuple(sorted({lo, float(math.floor(middle)) if current.is_int else middle, hi}))


def _at_floor(analysis: Analysis, functions: Mapping[str, Entry], task: Known) -> Known:
    """Return what must hold of single signals of a task where every outcome term is at its floor."""
    known = {**analysis.known_open, **task}
    for term in analysis.section("outcome"):
        if term.formula.node is None or term.fact is None:
            continue
        floor = infer(term.formula.node, analysis.scope, functions, known).interval.lo
        for node in _names(term.formula.node):
            current = look_up(node, known, analysis.scope)
            sign = term.fact.signs.get(key(node))
            if sign not in ("+", "-") or not current.is_finite or current.is_point:
                continue
            pinned, rest = _split(current, at_low=sign == "+")
            above = infer(term.formula.node, analysis.scope, functions, {**known, key(node): rest})
            if above.interval.lo > floor:
                known[key(node)] = pinned
    return known


def _split(current: Interval, *, at_low: bool) -> tuple[Interval, Interval]:
    """Return the end of a range that is the floor, and the rest."""
    step = 1.0 if current.is_int else (current.hi - current.lo) * 1e-6
    if at_low:
        edge = min(current.lo + step, current.hi)
        floor = Interval(current.lo, current.lo if current.is_int else edge, current.is_int)
        return floor, Interval(edge, current.hi, current.is_int)
    edge = max(current.hi - step, current.lo)
    floor = Interval(current.hi if current.is_int else edge, current.hi, current.is_int)
    return floor, Interval(current.lo, edge, current.is_int)


def _has_one_level(analysis: Analysis, functions: Mapping[str, Entry]) -> bool:
    """RW022: proved by the range, or by trying every combination where all names are finite."""
    if analysis.reward.is_point:
        return True
    nodes = [term.formula.node for term in analysis.terms]
    nodes += [gate.gate.condition.node for gate in analysis.gates]
    if analysis.when is not None or analysis.gates or any(node is None for node in nodes):
        return False  # a gate or guard adds levels of its own, which the range shows
    names = {key(name): name for node in nodes if node is not None for name in _names(node)}
    choices: list[list[float]] = []
    for name in names.values():
        current = look_up(name, analysis.known_open, analysis.scope)
        if not current.is_int or not current.is_finite or current.hi - current.lo >= MAX_LEVELS:
            return False
        choices.append([float(value) for value in range(int(current.lo), int(current.hi) + 1)])
    size = 1
    for values in choices:
        size *= len(values)
    if size > MAX_LEVELS:
        return False
    seen: set[float] = set()
    for chosen in itertools.product(*choices):
        known = {name: Interval(value, value, True) for name, value in zip(names, chosen, strict=True)}
        facts = [infer(node, analysis.scope, functions, known).interval for node in nodes if node is not None]
        if not all(fact.is_point for fact in facts):
            return False
        seen.add(round(sum(fact.lo for fact in facts), 9))
        if len(seen) > 1:
            return False
    return True


def _doubled(analysis: Analysis) -> Iterator[Finding]:
    """RW023: two terms are multiples of the same signal."""
    first: dict[str, TermFact] = {}
    for term in analysis.terms:
        name = only_signal(term.formula.node, analysis.scope) if term.formula.node is not None else None
        if name is None or "." not in name:
            continue
        if name in first:
            other = first[name].formula.at
            message = f"two terms are linear in `{name}`: this one and `{other}`"
            yield finding("RW023", whole(term.formula), message, "write one term", term.formula.at)
        first.setdefault(name, term)


def _names(node: Expr) -> Iterator[Ref | Signal]:
    seen: set[str] = set()
    for part in walk(node):
        if isinstance(part, (Ref, Signal)) and key(part) not in seen:
            seen.add(key(part))
            yield part
