"""Analysis: what is proved of a declared domain's reward as a whole.

Earlier gates and `when` narrow what comes after them. Ends of sections are sums of ends of terms, taken in the order in
which the value is summed.
"""

import itertools
from collections.abc import Iterable, Mapping

import msgspec

from assay.dsl.declared import Declared, Formula, GateDeclaration
from assay.dsl.expr import interval as iv
from assay.dsl.expr.fault import place
from assay.dsl.expr.function import Entry
from assay.dsl.expr.infer import Fact, infer
from assay.dsl.expr.interval import Interval
from assay.dsl.expr.narrow import Known, narrow
from assay.dsl.expr.node import Binary, Compare, Expr, Logic, Ref, number, strip, walk
from assay.dsl.expr.scope import Scope
from assay.dsl.source.diagnostic import Finding

# Comparisons of proved ends allow this much.
TOLERANCE = 1e-9

_ZERO = iv.point(0.0)


class TermFact(msgspec.Struct, frozen=True):
    """One term and what is proved of it; `fact` is None where its expression is faulty."""

    section: str
    name: str
    formula: Formula
    fact: Fact | None


class GateFact(msgspec.Struct, frozen=True):
    """One gate, what is proved of its condition, and what it pays."""

    gate: GateDeclaration
    fact: Fact | None
    payment: float | None


class Analysis(msgspec.Struct, frozen=True):
    """Everything proved.

    Attributes:
        scope: With what `success` stands for.
        gates: In order.
        terms: In order of the sum.
        when: What is proved of `when`; None where nothing is written or it is faulty.
        guard: `when` itself, likewise.
        is_sound: No expression is faulty, so that the sections below mean something.
        known_open: What holds once all gates are open.
        known_when: What holds where `when` does too; None where it cannot.
        outcome: Range of the section with all gates open.
        outcome_when: The same where `when` holds; None where it cannot.
        process: Range of the section.
        efficiency: Range where `when` holds; [0, 0] where there is none or it cannot.
        reward: Range of everything, closed gates included.
        worst_open: Smallest reward of an episode with all gates open.
        margin: By how much the outcome outweighs the penalties.
    """

    scope: Scope
    gates: tuple[GateFact, ...]
    terms: tuple[TermFact, ...]
    when: Fact | None
    guard: Expr | None
    is_sound: bool
    known_open: Known
    known_when: Known | None
    outcome: Interval
    outcome_when: Interval | None
    process: Interval
    efficiency: Interval
    reward: Interval
    worst_open: float
    margin: float

    def section(self, name: str) -> tuple[TermFact, ...]:
        """Return the terms of one section."""
        return tuple(term for term in self.terms if term.section == name)


def analyse(declared: Declared, functions: Mapping[str, Entry]) -> tuple[Analysis, list[Finding]]:
    """Prove what can be proved; RX005 where an expression divides by what can be 0."""
    return _Analyst(declared, functions).run()


class _Analyst:
    def __init__(self, declared: Declared, functions: Mapping[str, Entry]) -> None:
        self.declared = declared
        self.functions = functions
        self.scope = declared.scope
        self.findings: list[Finding] = []
        self.known_asked: Known | None = None

    def run(self) -> tuple[Analysis, list[Finding]]:
        declared = self.declared
        if declared.success is None:
            self.scope = msgspec.structs.replace(self.scope, success=None)
        gates, known_open = self.gates()
        known_asked = known_open if self.known_asked is None else self.known_asked
        if declared.success is not None:
            self.infer(declared.success, known_asked)
        outcome_terms = self.terms("outcome", known_asked if declared.success is None else known_open)
        outcome = _total(outcome_terms)
        if declared.success is None:
            self.scope = msgspec.structs.replace(self.scope, success=_at_top(declared, outcome.hi))
        process_terms = self.terms("process", known_open)
        when = self.infer(declared.when, known_open) if declared.when is not None else None
        known_when = self.known_when(known_open, when)
        efficiency_terms = self.terms("efficiency", known_when if known_when is not None else known_open)
        outcome_when = None if known_when is None else self.outcome_when(outcome, known_when)
        process = _total(process_terms)
        efficiency = _total(efficiency_terms) if known_when is not None else _ZERO
        terms = (*outcome_terms, *process_terms, *efficiency_terms)
        worst = outcome.lo + process.lo
        if outcome_when is not None:
            guarded = outcome_when.lo + process.lo + efficiency.lo
            worst = min(worst, guarded) if declared.when is not None else guarded
        formulas = [declared.when, declared.success, *(gate.condition for gate in declared.gates)]
        formulas += [term.formula for term in terms]
        is_sound = all(formula is None or formula.node is not None for formula in formulas)
        is_sound = is_sound and not self.findings and all(gate.payment is not None for gate in gates)
        is_sound = is_sound and declared.is_reward_whole and bool(outcome_terms)
        analysis = Analysis(
            scope=self.scope,
            gates=gates,
            terms=terms,
            when=when,
            guard=None if declared.when is None else declared.when.node,
            is_sound=is_sound,
            known_open=known_open,
            known_when=known_when,
            outcome=outcome,
            outcome_when=outcome_when,
            process=process,
            efficiency=efficiency,
            reward=self.reward(terms, gates, outcome_when, known_when),
            worst_open=worst,
            margin=outcome.hi - outcome.lo + process.lo + efficiency.lo,
        )
        return analysis, self.findings

    def infer(self, formula: Formula, known: Known) -> Fact | None:
        if formula.node is None:
            return None
        fact = infer(formula.node, self.scope, self.functions, known)
        self.findings += [place(fault, formula.scalar, formula.at) for fault in fact.faults]
        return None if fact.faults else fact

    def gates(self) -> tuple[tuple[GateFact, ...], Known]:
        known: Known = {}
        gates = []
        for gate in self.declared.gates:
            # `success`, and by default the outcome, are asked for here already, where later gates are not yet known.
            if self.known_asked is None and _mentions_success(gate.condition.node):
                self.known_asked = known
            fact = self.infer(gate.condition, known)
            gates.append(GateFact(gate, fact, self.payment(gate.otherwise)))
            if gate.condition.node is not None:
                # A gate that can never open is reported as such; what lies below is read as if it were not there.
                narrowed = narrow(gate.condition.node, known, self.scope, holds=True)
                known = known if narrowed is None else narrowed
        return tuple(gates), known

    def payment(self, formula: Formula) -> float | None:
        if formula.node is None:
            return None
        return infer(formula.node, self.scope, self.functions).interval.lo

    def terms(self, section: str, known: Known) -> tuple[TermFact, ...]:
        formulas = self.declared.sections[section]
        return tuple(TermFact(section, name, formula, self.infer(formula, known)) for name, formula in formulas.items())

    def known_when(self, known: Known, when: Fact | None) -> Known | None:
        formula = self.declared.when
        if formula is None or formula.node is None:
            return known
        if when is not None and when.interval.hi < 1.0:
            return None
        return narrow(formula.node, known, self.scope, holds=True)

    def outcome_when(self, outcome: Interval, known: Known) -> Interval:
        """Range of the outcome where `when` holds; the default `success` in it says it is at its top."""
        formula = self.declared.when
        if formula is None or formula.node is None:
            return outcome
        if self.declared.success is None and _requires_success(formula.node):
            return iv.point(outcome.hi)
        parts = [infer(f.node, self.scope, self.functions, known).interval for f in self._outcome() if f.node]
        return iv.meet(_sum(parts), outcome) or outcome

    def _outcome(self) -> Iterable[Formula]:
        return self.declared.sections["outcome"].values()

    def reward(
        self,
        terms: tuple[TermFact, ...],
        gates: tuple[GateFact, ...],
        outcome_when: Interval | None,
        known_when: Known | None,
    ) -> Interval:
        def ranges(*sections: str) -> list[Interval]:
            return [_range(term) for term in terms if term.section in sections]

        unguarded = _sum(ranges("outcome", "process"))
        has_efficiency = any(term.section == "efficiency" for term in terms)
        parts = [unguarded]
        if has_efficiency and known_when is not None and outcome_when is not None:
            guarded = _sum([outcome_when, *ranges("process", "efficiency")])
            full = _sum(ranges("outcome", "process", "efficiency"))
            guarded = iv.meet(guarded, full) or full
            parts = [guarded] if self.declared.when is None else [unguarded, guarded]
        parts += [iv.point(gate.payment) for gate in gates if gate.payment is not None]
        return iv.hull(*parts)


def _at_top(declared: Declared, top: float) -> Expr | None:
    """Return `outcome >= top` as an expression; None while a term is faulty."""
    nodes = [formula.node for formula in declared.sections["outcome"].values()]
    parts = [strip(node) for node in nodes if node is not None]
    if not parts or len(parts) < len(nodes):
        return None
    # Added in pairs: a chain would nest as deep as there are terms, and whatever walks a node recurses.
    while len(parts) > 1:
        pairs = itertools.zip_longest(parts[::2], parts[1::2])
        parts = [left if right is None else Binary(sign="+", left=left, right=right) for left, right in pairs]
    return Compare(signs=(">=",), items=(parts[0], number(top - TOLERANCE)))


def _mentions_success(node: Expr | None) -> bool:
    return node is not None and any(isinstance(part, Ref) and part.name == "success" for part in walk(node))


def _requires_success(node: Expr) -> bool:
    if isinstance(node, Logic) and node.sign == "and":
        return any(_requires_success(item) for item in node.items)
    return isinstance(node, Ref) and node.name == "success"


def _range(term: TermFact) -> Interval:
    return iv.ANY if term.fact is None else term.fact.interval


def _total(terms: tuple[TermFact, ...]) -> Interval:
    return _sum([_range(term) for term in terms])


def _sum(parts: list[Interval]) -> Interval:
    if not parts:
        return _ZERO
    total = parts[0]
    for part in parts[1:]:
        total = iv.add(total, part)
    return total
