"""Proved facts of a domain, as `assay check` and `assay plan` print them."""

import math
from typing import Any

import msgspec

from assay.dsl.analysis import Analysis
from assay.dsl.declared import Declared
from assay.dsl.expr.interval import Interval, format_number
from assay.dsl.expr.node import Signal, walk
from assay.dsl.expr.scope import NOT_DETERMINISTIC, key
from assay.dsl.lint.grading import live_verifiers, required_capabilities, unpinned_judges

_TIERS = ("auto", "judge", "human")


class DomainFacts(msgspec.Struct, frozen=True):
    """What is proved of one domain.

    Attributes:
        id: Id inside its package.
        dist: Distribution.
        version: Its own version.
        digest: Of the program.
        reward: Range, closed gates included.
        outcome: Range of the section.
        process: Range of the section.
        efficiency: Range of the section where `when` holds.
        gate: What each gate pays when closed.
        margin: By how much the outcome outweighs the penalties.
        tier: The most costly tier among live verifiers.
        deterministic: Whether equal episodes get equal rewards.
        cost_s: Expected seconds of verification, all gates open.
        needs: Capabilities of a sandbox.
        price_usd: Expected charge of judges, all gates open; None where one states no price.
        unpinned_judges: Floating model names.
        terms: Range of each term, `section.name` in the order of the sum.
    """

    id: str
    dist: str
    version: int
    digest: str
    reward: Interval
    outcome: Interval
    process: Interval
    efficiency: Interval
    gate: tuple[float, ...]
    margin: float
    tier: str
    deterministic: bool
    cost_s: float
    needs: tuple[str, ...]
    price_usd: float | None
    unpinned_judges: tuple[str, ...]
    terms: dict[str, Interval] = {}

    def to_json(self) -> dict[str, Any]:
        """Return the facts with unbounded ends as None."""
        return {
            "id": self.id,
            "dist": self.dist,
            "version": self.version,
            "digest": self.digest,
            "reward": list(self.reward.ends),
            "outcome": list(self.outcome.ends),
            "process": list(self.process.ends),
            "efficiency": list(self.efficiency.ends),
            "gate": list(self.gate),
            "margin": _finite(self.margin),
            "tier": self.tier,
            "deterministic": self.deterministic,
            "cost_s": self.cost_s,
            "needs": list(self.needs),
        }

    def to_text(self) -> str:
        """Return the facts as a short paragraph for people."""
        gates = ", ".join(format_number(value) for value in self.gate) or "none"
        lines = [
            f"{self.dist}/{self.id}@{self.version}  {self.digest[:12]}",
            f"  reward      {self.reward}",
            f"  outcome     {self.outcome}    process {self.process}    efficiency {self.efficiency}",
            f"  gates pay   {gates}    margin {format_number(self.margin)}",
            f"  grading     {self.tier}, {'deterministic' if self.deterministic else 'not deterministic'},"
            f" about {self.cost_s:.3g} s{', needs ' + ', '.join(self.needs) if self.needs else ''}",
        ]
        return "\n".join(lines)


def domain_facts(declared: Declared, analysis: Analysis, dist: str, digest: str) -> DomainFacts:
    """Collect the facts of a domain."""
    live = live_verifiers(declared)
    nodes = [part for formula in declared.formulas() if formula.node is not None for part in walk(formula.node)]
    reads_clock = any(isinstance(part, Signal) and key(part) in NOT_DETERMINISTIC for part in nodes)
    needs: set[str] = set()
    for words in required_capabilities(declared).values():
        needs |= words
    return DomainFacts(
        id=declared.id,
        dist=dist,
        version=declared.version,
        digest=digest,
        reward=analysis.reward,
        outcome=analysis.outcome,
        process=analysis.process,
        efficiency=analysis.efficiency,
        gate=tuple(gate.payment for gate in analysis.gates if gate.payment is not None),
        margin=analysis.margin,
        tier=max((verifier.tier for verifier in live.values()), key=_TIERS.index, default="auto"),
        deterministic=not reads_clock and all(verifier.is_deterministic for verifier in live.values()),
        cost_s=math.fsum(verifier.cost_s for verifier in live.values()),
        needs=tuple(sorted(needs)),
        price_usd=_price([verifier.price_usd for verifier in live.values() if verifier.tier == "judge"]),
        unpinned_judges=tuple(model for _, model in unpinned_judges(declared)),
        terms={f"{term.section}.{term.name}": term.fact.interval for term in analysis.terms if term.fact is not None},
    )


def _price(prices: list[float | None]) -> float | None:
    known = [price for price in prices if price is not None]
    return math.fsum(known) if len(known) == len(prices) else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
