"""Reads `calibration:`: answers that people have marked, and how well a verifier must agree with them.

A row is `{task: {field: value}, answer: text, expect: {signal: bound}}`; a bound is a number or a comparison for a
number, true or false for a bool, the text itself for a text. Further keys of a row are no fault.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from assay.core.error import AssayError
from assay.core.kind import Kind
from assay.core.leaf import SourceLeaf, Verifier
from assay.core.name import suggestion
from assay.core.registry import Registry
from assay.core.signal import SignalSpec, SignalValue
from assay.dsl.expr.scope import Scope
from assay.dsl.leaf import Bound, bind_call
from assay.dsl.program import Calibration, Rows
from assay.dsl.rows import check_row, plain_value, read_value
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Mapping as Tree
from assay.dsl.source.mark import Node, Scalar, Sequence
from assay.dsl.trial import read_bound

# Rows of a local source that `check` reads.
MAX_CHECKED_ROWS = 10_000
_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
}


class Expectation(msgspec.Struct, frozen=True):
    """What one signal of a marked answer must be."""

    signal: str
    sign: str
    value: bool | int | float | str

    def holds(self, measured: SignalValue) -> bool:
        """Whether a measured value is as expected."""
        return _HOLDS[self.sign](measured, self.value)

    def __str__(self) -> str:
        return f"{self.signal} {self.sign} {self.value if isinstance(self.value, str) else f'{self.value:g}'}"


class Mark(msgspec.Struct, frozen=True):
    """One marked answer.

    Attributes:
        task: Its fields.
        answer: Text of the final reply.
        expect: All of them must hold.
    """

    task: dict[str, Any]
    answer: str
    expect: tuple[Expectation, ...]


def read_mark(row: object, fields: Mapping[str, Kind], signals: Mapping[str, SignalSpec], verify: str) -> Mark | str:
    """Return a row as a mark, or what must hold and does not.

    Args:
        row: As its source gave it.
        fields: Of the domain.
        signals: Of the verification.
        verify: Its name; a signal may also be called `<verify>.<signal>`.
    """
    if not isinstance(row, dict):
        return f"must be a mapping of task, answer and expect, got {type(row).__name__}"
    for key in ("task", "answer", "expect"):
        if key not in row:
            return f"must have `{key}`"
    if (reason := check_row(row["task"], fields)) is not None:
        return f"`task` {reason}"
    if not isinstance(row["answer"], str):
        return f"`answer` must be a text, got {row['answer']!r}"
    if not isinstance(row["expect"], dict) or not row["expect"]:
        return f"`expect` must be a mapping of signals to bounds, got {row['expect']!r}"
    expect = []
    for written, bound in row["expect"].items():
        name = written.removeprefix(f"{verify}.")
        spec = signals.get(name)
        if spec is None:
            hint = suggestion(name, signals) or f"signals: {', '.join(signals)}"
            return f"`expect` must name a signal, got `{name}`; {hint}"
        read = _expectation(name, bound, spec)
        if isinstance(read, str):
            return read
        expect.append(read)
    return Mark({name: row["task"][name] for name in fields}, row["answer"], tuple(expect))


def _expectation(name: str, bound: object, spec: SignalSpec) -> Expectation | str:
    kind = spec.kind.name
    if kind == "bool":
        if not isinstance(bound, bool):
            return f"`expect.{name}` must be true or false, got {bound!r}"
        return Expectation(name, "==", bound)
    if kind in ("str", "literal"):
        if not isinstance(bound, str):
            return f"`expect.{name}` must be a text, got {bound!r}"
        return Expectation(name, "==", bound)
    is_number = isinstance(bound, (int, float)) and not isinstance(bound, bool)
    read = read_bound(str(bound)) if is_number or isinstance(bound, str) else None
    if read is None or kind not in ("int", "float"):
        return f"`expect.{name}` must be a number or a comparison such as `>= 0.5`, got {bound!r}"
    return Expectation(name, *read)


def _row(node: Node, fields: Mapping[str, Kind]) -> Any:
    """Return a written row as a source would give it: kinds decide what a scalar is, never its spelling."""
    row = plain_value(node)
    if not isinstance(node, Tree) or not isinstance(row, dict):
        return row
    task, answer = node.get("task"), node.get("answer")
    if isinstance(task, Tree):
        row["task"] = {
            entry.key.text: read_value(entry.value, fields[entry.key.text])[0]
            for entry in task
            if entry.key.text in fields
        }
    if isinstance(answer, Scalar):
        row["answer"] = answer.text
    return row


class CalibrationReader:
    """Reads `calibration:` of one domain; `findings` holds what is wrong with it.

    Args:
        tree: Of the domain, after the shape check.
        registry: What is installed.
        scope: Fields, params and signals.
        verifiers: By name under `verify:`, those whose call holds.
        open_rows: Opens the source of a bound call.
    """

    def __init__(
        self,
        tree: Tree,
        registry: Registry,
        scope: Scope,
        verifiers: Mapping[str, Verifier],
        open_rows: Callable[[Bound], Any],
    ) -> None:
        self.tree = tree
        self.registry = registry
        self.scope = scope
        self.verifiers = verifiers
        self.open_rows = open_rows
        self.findings: list[Finding] = []
        self.used: set[str] = set()

    def read(self) -> dict[str, Calibration]:
        """Return the calibrations by name under `verify:`."""
        found: dict[str, Calibration] = {}
        node = self.tree.get("calibration")
        for entry in node if isinstance(node, Tree) else ():
            name, at = entry.key.text, f"calibration.{entry.key.text}"
            if name not in self.scope.signals or name == "trace":
                if name not in self.scope.faulty:
                    known = [one for one in self.scope.signals if one != "trace"]
                    hint = suggestion(name, known) or f"under `verify:`: {', '.join(known)}"
                    self.say("RX001", entry.key, f"`calibration` must name a verification, got `{name}`", hint, at)
                continue
            if not isinstance(entry.value, Tree):
                continue
            if name in self.verifiers and self.verifiers[name].tier == "human":
                self.say("RX003", entry.key, f"`{name}` is answered by people, whom nothing calibrates", "", at)
                continue
            agreement = self.agreement(entry.value, at)
            data = self.data(entry.value.get("data"), name, at + ".data")
            if data is not None and agreement is not None and name in self.verifiers:
                found[name] = Calibration(data, *agreement)
        return found

    def agreement(self, node: Tree, at: str) -> tuple[str, float] | None:
        """Read the share of rows that must hold."""
        child = node.get("agreement")
        if not isinstance(child, Scalar):
            return None
        bound = read_bound(child.text)
        if bound is None or bound[0] not in (">=", ">") or not 0.0 <= bound[1] <= 1.0:
            message = f"must be a least share of rows such as `>= 0.8`, got {child.text!r}"
            self.say("YM003", child, message, "", at + ".agreement")
            return None
        return bound

    def data(self, node: Node | None, verify: str, at: str) -> Any:
        """Read the rows, or the call of their source."""
        if isinstance(node, Sequence):
            return self.rows(node, verify, at)
        if not isinstance(node, Scalar):
            return None
        bound, findings, mentioned = bind_call(node, "source", self.registry, self.scope, at, fields=False)
        self.findings += findings
        self.used |= mentioned
        if bound is None:
            return None
        if isinstance(bound.offer.value, SourceLeaf) and bound.offer.value.is_local:
            self.source(bound, node, verify, at)
        return bound.use

    def rows(self, node: Sequence, verify: str, at: str) -> Rows:
        """Read rows that are written out."""
        if not node.items:
            self.say("DA001", node, "must hold at least one row, got an empty list", "", at)
        rows = []
        for number, item in enumerate(node.items):
            value = _row(item, self.scope.fields)
            if isinstance(reason := self.read_mark(value, verify), str):
                self.say("DA001", item, f"row {number} {reason}", "", f"{at}.{number}")
            rows.append(value)
        return Rows(tuple(rows))

    def source(self, bound: Bound, node: Scalar, verify: str, at: str) -> None:
        """Read the rows of a local source and report the first that does not fit."""
        text = node.text.strip()
        try:
            source = self.open_rows(bound)
            if not len(source):
                self.say("DA001", node, f"{text} must hold at least one row, got none", "", at)
            for index in range(min(len(source), MAX_CHECKED_ROWS)):
                reason = self.read_mark(source.read(index), verify)
                if isinstance(reason, str):
                    self.say("DA001", node, f"row {index} of {text} {reason}", "", at)
                    return
        except (AssayError, OSError, UnicodeError, ValueError) as error:
            self.say("DA001", node, f"{text}: {error}", "", at)

    def read_mark(self, row: object, verify: str) -> Mark | str:
        """Return a row as a mark, or what must hold and does not."""
        return read_mark(row, self.scope.fields, self.scope.signals[verify], verify)

    def say(self, code: str, node: Node, message: str, hint: str, at: str) -> None:
        self.findings.append(finding(code, node.span, message, hint, at))
