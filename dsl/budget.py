"""Reads `require:` of a curriculum: what a run may cost, and how much of it must be deterministic."""

import re

from assay.core.quantity import parse_duration
from assay.dsl.mix import Budget
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Mapping, Node, Scalar, Sequence

_UNITS = {"judge_cost": "USD", "verify_cost": "s", "deterministic_share": ""}
_EXAMPLES = {"USD": "<= 0.02 USD", "s": "<= 2 s", "": ">= 0.7"}


def read_budgets(node: Node | None) -> tuple[tuple[Budget, ...], list[Finding]]:
    """Return the budgets of a checked `require:`, and YM003 for each that is no comparison in its unit."""
    budgets, findings = [], []
    for entry in node if isinstance(node, Mapping) else ():
        name, text = entry.key.text, _text(entry.value)
        if isinstance(entry.value, Sequence):
            budgets.append(Budget(name, "in", 0.0, tuple(_text(item) for item in entry.value.items)))
        elif name == "deterministic":
            budgets.append(Budget(name, "==", float(text == "true")))
        elif (bound := read_budget(text, _UNITS[name])) is not None:
            budgets.append(Budget(name, *bound))
        else:
            message = f"`require.{name}` must be a comparison such as `{_EXAMPLES[_UNITS[name]]}`"
            findings.append(finding("YM003", entry.value.span, message))
    return tuple(budgets), findings


def read_budget(text: str, unit: str) -> tuple[str, float] | None:
    """Read `<= 0.02 USD`, `<= 200ms` or `>= 0.7`; None where it is none of that unit. Durations come out in seconds."""
    match = re.fullmatch(r"(<=|>=|<|>|==)\s*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)", text)
    if match is None:
        return None
    if unit == "s":
        try:
            return match[1], parse_duration(match[2] + match[3])
        except ValueError:
            return None
    return (match[1], float(match[2])) if match[3] == unit else None


def _text(node: Node) -> str:
    return node.text.strip() if isinstance(node, Scalar) else ""
