"""RW010: what nothing uses, and terms that never change."""

from collections.abc import Iterator

from assay.dsl.analysis import Analysis
from assay.dsl.declared import Declared
from assay.dsl.expr.node import Expr, Ref, Signal, walk
from assay.dsl.lint.reward import whole
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Mapping

_WHAT = {"verify": "verification", "fields": "field", "params": "param"}


def lint_liveness(declared: Declared, analysis: Analysis) -> Iterator[Finding]:
    """Report unused verifications, fields and params, and constant terms."""
    if declared.is_whole:
        for section, what in _WHAT.items():
            node = declared.tree.get(section)
            for entry in node if isinstance(node, Mapping) else ():
                name = entry.key.text
                if name not in declared.used:
                    at = f"{section}.{name}"
                    yield finding("RW010", entry.key.span, f"nothing uses the {what} `{name}`", "remove it", at)
    if declared.when is not None and analysis.when is not None and analysis.when.interval.hi < 1.0:
        hint = "earlier gates and declared ranges decide it"
        message = "`when` must be able to hold, got one that is always false: nothing pays these terms"
        yield finding("RW010", whole(declared.when), message, hint, declared.when.at)
    for term in analysis.terms:
        if term.fact is None or term.formula.node is None or not term.fact.interval.is_finite:
            continue
        if not any(_varies(part, declared) for part in walk(term.formula.node)) or term.fact.interval.is_point:
            message = f"a term must depend on the episode, got the constant {term.fact.interval.lo:g}"
            yield finding(
                "RW010", whole(term.formula), message, "remove it, or let it depend on a signal", term.formula.at
            )


def _varies(node: Expr, declared: Declared) -> bool:
    return isinstance(node, Signal) or (isinstance(node, Ref) and node.name not in declared.params)
