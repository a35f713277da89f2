"""Scopes: what a name in an expression stands for."""

import msgspec

from assay.core.kind import Kind
from assay.core.leaf import Function
from assay.core.name import nearest
from assay.core.signal import SignalSpec
from assay.dsl.expr.interval import ANY, BOOL, Interval
from assay.dsl.expr.node import Expr, Ref, Signal

TRACE = {
    spec.name: spec
    for spec in (
        SignalSpec("turns", Kind("int", 0.0), "turns", "neither", "Completions sampled."),
        SignalSpec("tokens", Kind("int", 0.0), "tokens", "neither", "Tokens sampled."),
        SignalSpec("prompt_tokens", Kind("int", 0.0), "tokens", "neither", "Tokens given."),
        SignalSpec("tool_calls", Kind("int", 0.0), "calls", "neither", "Calls asked for."),
        SignalSpec("invalid_calls", Kind("int", 0.0), "calls", "down", "Calls that did not parse or named no tool."),
        SignalSpec("truncated", Kind("bool"), None, "down", "A limit on turns or tokens ended the episode."),
        SignalSpec("parsed", Kind("bool"), None, "up", "The answer parser accepted the final text."),
        SignalSpec("wall_s", Kind("float", 0.0), "s", "neither", "Seconds from first token to last."),
    )
}
# Signals of the trace that differ between equal episodes.
NOT_DETERMINISTIC = frozenset({"trace.wall_s"})


class Scope(msgspec.Struct, frozen=True):
    """Names known at one place.

    Attributes:
        fields: Kinds by field name.
        params: Values by param name.
        signals: Signals by verifier name; `trace` among them.
        functions: By name.
        success: What `success` stands for; None where the name is not known here.
        faulty: Names whose declaration has a finding; using one is no further finding.
    """

    fields: dict[str, Kind] = {}
    params: dict[str, float] = {}
    signals: dict[str, dict[str, SignalSpec]] = {}
    functions: dict[str, Function] = {}
    success: Expr | None = None
    faulty: frozenset[str] = frozenset()

    def names(self) -> tuple[str, ...]:
        """Return every name that may stand in an expression."""
        pairs = [f"{owner}.{name}" for owner, specs in self.signals.items() for name in specs]
        own = ["success"] if self.success is not None else []
        return (*self.fields, *self.params, *pairs, *own)

    def kind(self, node: Ref | Signal) -> Kind | None:
        """Return the kind of a name; None where it is unknown."""
        if isinstance(node, Signal):
            spec = self.signals.get(node.owner, {}).get(node.name)
            return None if spec is None else spec.kind
        if node.name in self.params:
            return Kind("float")
        if node.name == "success" and self.success is not None:
            return Kind("bool")
        return self.fields.get(node.name)

    def interval(self, node: Ref | Signal) -> Interval:
        """Return all values a number or bool can take."""
        if isinstance(node, Ref) and node.name in self.params:
            value = self.params[node.name]
            return Interval(float(value), float(value), isinstance(value, int))
        kind = self.kind(node)
        return ANY if kind is None else kind_interval(kind)


def kind_interval(kind: Kind) -> Interval:
    """Return all values of a kind, as numbers."""
    if kind.name == "bool":
        return BOOL
    lo = -ANY.hi if kind.lo is None else kind.lo
    hi = ANY.hi if kind.hi is None else kind.hi
    return Interval(lo, hi, kind.name == "int")


def meant(name: str, scope: Scope) -> set[str]:
    """Return the names that a use of `name` counts as a use of: itself, or what it misspells.

    The misspelling is the one finding; that nothing uses the right name has the same cause.
    """
    known = (*scope.fields, *scope.params, *scope.signals, *scope.faulty)
    return {name} if name in known or name == "success" else {name, *nearest(name, known)}


def key(node: Ref | Signal) -> str:
    """Return the name as text: `field` or `verifier.signal`."""
    return node.name if isinstance(node, Ref) else f"{node.owner}.{node.name}"
