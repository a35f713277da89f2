"""Reads the reward of a declaration: gates, terms, `when` and `success`, each parsed and typed in one scope."""

from collections.abc import Collection
from collections.abc import Mapping as AnyMapping
from typing import Literal

from assay.core.name import suggestion
from assay.dsl.declared import Formula, GateDeclaration
from assay.dsl.edition import RESERVED_TERMS
from assay.dsl.expr.check import check_expression
from assay.dsl.expr.fault import place, place_syntax
from assay.dsl.expr.function import Entry
from assay.dsl.expr.node import Expr, Ref, Signal, number, walk
from assay.dsl.expr.parse import parse_expression
from assay.dsl.expr.scope import Scope, meant
from assay.dsl.schema import read_number
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Mapping, Node, Scalar, Sequence, Span

# Of one section; the sum is written as one expression, and Python's compiler recurses along it.
MAX_TERMS = 256


class FormulaReader:
    """Reads formulas of one reward.

    Attributes:
        scope: What names stand for.
        faulty: Dotted paths that the shape check left out.
        findings: What is wrong with what has been read.
        used: Names that something has used.
        is_whole: Whether no section turned out to be empty.
    """

    def __init__(
        self,
        reward: Node | None,
        scope: Scope,
        functions: AnyMapping[str, Entry],
        faulty: Collection[str] = (),
    ) -> None:
        self.reward = reward
        self.faulty = faulty
        self.scope = scope
        self.functions = functions
        self.findings: list[Finding] = []
        self.used: set[str] = set()
        self.is_whole = True

    def formula(self, path: str, expects: Literal["bool", "number"]) -> Formula | None:
        """Read the formula below `reward` at a path; None where none is written."""
        node = self.find(path)
        return self.read(node, f"reward.{path}", expects) if isinstance(node, Scalar) else None

    def read(self, scalar: Scalar, at: str, expects: Literal["bool", "number"]) -> Formula:
        formula = Formula(scalar, at)
        node, syntax = parse_expression(scalar.text)
        if node is None:
            self.findings += [place_syntax(fault, scalar, at) for fault in syntax]
            self.mention(scalar.text)
            return formula
        self.use(node)
        typed, faults = check_expression(node, self.scope, self.functions, expects)
        self.findings += [place(fault, scalar, at) for fault in faults]
        formula.node = node if typed is not None else None
        return formula

    def use(self, node: Expr) -> None:
        for part in walk(node):
            if isinstance(part, (Ref, Signal)):
                self.used |= meant(part.name if isinstance(part, Ref) else part.owner, self.scope)

    def mention(self, text: str) -> None:
        """Count every known name in an unreadable text as used: one cause, one finding."""
        known = (*self.scope.fields, *self.scope.params, *self.scope.signals, *self.scope.faulty)
        self.used |= {name for name in known if name in text}

    def gates(self) -> list[GateDeclaration]:
        """Read the gates in order."""
        node = self.find("gate")
        gates: list[GateDeclaration] = []
        for index, item in enumerate(node.items if isinstance(node, Sequence) else ()):
            condition = item.get("if") if isinstance(item, Mapping) else None
            otherwise = item.get("else") if isinstance(item, Mapping) else None
            if not isinstance(condition, Scalar) or not isinstance(otherwise, Scalar):
                continue
            name = _name(item) or str(index)
            at = f"reward.gate.{name}"
            formula = self.read(condition, at, "bool")
            if any(other.name == name for other in gates) and isinstance(item, Mapping):
                span = (item.get("name") or item).span
                self.say("YM001", span, f"two gates have the name `{name}`", "", "reward.gate")
            gates.append(GateDeclaration(name, index, formula, self.payment(otherwise, at)))
        return gates

    def payment(self, scalar: Scalar, at: str) -> Formula:
        """Read `else:`, a number or a param."""
        text = scalar.text.strip()
        try:
            return Formula(scalar, at, number(read_number(text)))
        except ValueError:
            pass
        if text in self.scope.params:
            self.used.add(text)
            return Formula(scalar, at, Ref(name=text))
        self.used |= meant(text, self.scope)
        if text.isidentifier() and text not in self.scope.faulty:
            self.say("RX001", scalar.span, f"unknown param `{text}`", suggestion(text, self.scope.params), at)
        elif not text.isidentifier():
            self.say("YM003", scalar.span, f"`else` must be a number or the name of a param, got {text!r}", "", at)
        return Formula(scalar, at)

    def section(self, name: str) -> dict[str, Formula]:
        """Read the terms of one section."""
        terms: dict[str, Formula] = {}
        node = self.find(name)
        if name == "outcome" and isinstance(node, Mapping) and not node.entries and not self.has_faulty(name):
            self.say("YM003", node.span, "`reward.outcome` must hold at least one term", "", "reward.outcome")
            self.is_whole = False
        if isinstance(node, Mapping) and len(node.entries) > MAX_TERMS:
            message = f"`reward.{name}` must hold at most {MAX_TERMS} terms, got {len(node.entries)}"
            self.say("YM003", node.span, message, "", f"reward.{name}")
            self.is_whole = False
            return terms
        for entry in self.entries(name):
            term = entry.key.text
            if name == "efficiency" and term == "when":
                continue
            if term in RESERVED_TERMS:
                message = f"a term must not be named `{term}`, which is reserved"
                self.say("YM003", entry.key.span, message, "", f"reward.{name}.{term}")
                self.mention(entry.value.text if isinstance(entry.value, Scalar) else "")
            elif isinstance(entry.value, Scalar):
                terms[term] = self.read(entry.value, f"reward.{name}.{term}", "number")
        return terms

    def has_faulty(self, section: str) -> bool:
        return any(path.startswith(f"reward.{section}.") for path in self.faulty)

    def entries(self, section: str) -> Mapping | tuple[()]:
        node = self.find(section)
        return node if isinstance(node, Mapping) else ()

    def find(self, path: str) -> Node | None:
        node = self.reward
        for part in path.split("."):
            node = node.get(part) if isinstance(node, Mapping) else None
        return node

    def say(self, code: str, span: Span, message: str, hint: str, at: str) -> None:
        self.findings.append(finding(code, span, message, hint, at))


def _name(gate: Node) -> str:
    node = gate.get("name") if isinstance(gate, Mapping) else None
    return node.text.strip() if isinstance(node, Scalar) else ""
