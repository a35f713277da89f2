"""RX007, RW001, RW003, RW004, RW020, RW024: ranges, directions and the order of payments."""

import math
from collections.abc import Iterator, Mapping

from assay.core.signal import SignalSpec
from assay.dsl.analysis import TOLERANCE, Analysis, GateFact, TermFact
from assay.dsl.declared import Formula
from assay.dsl.expr.infer import Fact
from assay.dsl.expr.interval import format_number
from assay.dsl.expr.scope import Scope
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Span


def lint_reward(analysis: Analysis) -> Iterator[Finding]:
    """Report terms that say the opposite of what their section or a signal's direction says."""
    faulty = not analysis.is_sound
    for gate in analysis.gates:
        yield from _gate(gate, analysis)
    for term in analysis.terms:
        if term.fact is not None:
            found = _term(term, term.fact, analysis.scope)
            if found is not None:
                faulty = faulty or found.code in ("RW001", "RW003")
                yield found
    if faulty:
        return
    yield from _payments(analysis)
    if analysis.margin <= TOLERANCE:
        yield _not_primary(analysis)


def _gate(item: GateFact, analysis: Analysis) -> Iterator[Finding]:
    if item.fact is None:
        return
    formula = item.gate.condition
    if item.fact.interval.is_point:
        always = "true" if item.fact.interval.lo == 1.0 else "false"
        message = f"a gate must be able to open and to close, got one that is always {always}"
        yield finding("RX007", whole(formula), message, "earlier gates and declared ranges decide it", formula.at)
        return
    found = _inverted(item.fact, formula, analysis.scope, "opens", "closes")
    if found is not None:
        yield found


def _term(term: TermFact, fact: Fact, scope: Scope) -> Finding | None:
    span, at = whole(term.formula), term.formula.at
    interval = fact.interval
    if not interval.is_finite:
        message = f"a term must have a finite range, got float{interval}"
        return finding("RW001", span, message, "bound it: min(x, 40), budget(x, cap) or clip(x, lo, hi)", at)
    if term.section == "outcome" and interval.hi <= TOLERANCE:
        message = f"an outcome term must be able to be > 0, got float{interval}"
        return finding("RW003", span, message, "flip the sign, or move the term to process", at)
    if term.section != "outcome" and interval.hi > TOLERANCE:
        article = "an" if term.section == "efficiency" else "a"
        message = f"{article} {term.section} term must be <= 0, got float{interval}"
        return finding("RW003", span, message, "flip the sign, or move the term to outcome", at)
    return _inverted(fact, term.formula, scope, "rises", "falls")


def _inverted(fact: Fact, formula: Formula, scope: Scope, up: str, down: str) -> Finding | None:
    """RW004: it provably goes the wrong way with a signal that has a direction."""
    for name, sign in fact.signs.items():
        spec = signal_of(name, scope.signals)
        if spec is None or spec.better == "neither" or sign == "?":
            continue
        if (spec.better == "up") == (sign == "-"):
            moves, follows = (down, "rises") if sign == "-" else (up, "rises")
            message = f"{moves} when `{name}` {follows}, and `{name}` is better {spec.better}"
            what = "a gate" if up == "opens" else "a term"
            return finding(
                "RW004", whole(formula), f"{what} {message}", "negate it, or declare what is meant", formula.at
            )
    return None


def _payments(analysis: Analysis) -> Iterator[Finding]:
    for item in analysis.gates:
        if item.payment is None or (item.fact is not None and item.fact.interval.is_point):
            continue
        if item.payment > analysis.worst_open + TOLERANCE:
            worst = format_number(analysis.worst_open)
            message = (
                f"a closed gate must not pay more than the worst open episode ({worst}), "
                f"got {format_number(item.payment)}"
            )
            # Rounded down, within the tolerance: what the hint says must be accepted.
            hint = f"pay at most {math.floor(analysis.worst_open * 1e6 + 1e-3) / 1e6:.10g}"
            yield finding("RW024", whole(item.gate.otherwise), message, hint, item.gate.condition.at)


def _not_primary(analysis: Analysis) -> Finding:
    reach = format_number(analysis.process.lo + analysis.efficiency.lo)
    spans = format_number(analysis.outcome.hi - analysis.outcome.lo)
    first = next(iter(analysis.section("outcome")))
    message = f"the outcome must outweigh the penalties: it spans {spans}, they reach {reach}"
    return finding("RW020", whole(first.formula), message, "raise the outcome or cap the penalties", "reward")


def signal_of(name: str, signals: Mapping[str, Mapping[str, SignalSpec]]) -> SignalSpec | None:
    """Return the declaration of `verifier.signal`; None for a field."""
    owner, _, signal = name.partition(".")
    return signals.get(owner, {}).get(signal)


def whole(formula: Formula) -> Span:
    """Return the span of a formula's text."""
    text = formula.scalar.text
    start = len(text) - len(text.lstrip())
    return formula.scalar.part(start, len(text.rstrip()))
