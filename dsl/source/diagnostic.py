"""Findings: what the compiler says about a text, for people and for programs."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from assay.dsl.source.mark import Span

Severity = Literal["error", "warning"]

# Everything else is an error.
WARNINGS = frozenset({"RW010", "RW020", "RW021", "RW022", "RW023"})


class Finding(msgspec.Struct, frozen=True):
    """One problem.

    Attributes:
        code: Stable, with a page in `docs/errors`.
        severity: An error stops; a warning does under `--strict`.
        span: The smallest faulty expression.
        message: What must hold and what came, without a full stop.
        hint: The way out; empty where there is none to give.
        at: Dotted path of the declaration it is about, such as `reward.process.invalid`; what `allow:` matches.
    """

    code: str
    severity: Severity
    span: Span
    message: str
    hint: str = ""
    at: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the finding as `assay check --format json` prints it."""
        return {
            "code": self.code,
            "severity": self.severity,
            "path": self.span.path,
            "line": self.span.line,
            "column": self.span.column,
            "end_column": self.span.end_column,
            "message": self.message,
            "hint": self.hint,
        }


def finding(code: str, span: Span, message: str, hint: str = "", at: str = "") -> Finding:
    """Return a finding with the severity its code has by default."""
    return Finding(code, "warning" if code in WARNINGS else "error", span, message, hint, at)


def sort_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by path, line and column, each once."""
    kept: dict[tuple[str, int, int, str, str], Finding] = {}
    for item in findings:
        kept.setdefault((item.span.path, item.span.line, item.span.column, item.code, item.message), item)
    return [kept[key] for key in sorted(kept)]


def render(item: Finding) -> str:
    """Return a finding with its line and a caret under the faulty part."""
    span = item.span
    lines = [f"{item.severity}[{item.code}]: {item.message}", f"  --> {span.path}:{span.line}:{span.column}"]
    if span.source:
        number, blank = str(span.line), " " * len(str(span.line))
        # A tab before the caret stays a tab, so that the caret stands under its character.
        lead = "".join("\t" if char == "\t" else " " for char in span.source[: span.column - 1])
        caret = lead + "^" * max(1, span.end_column - span.column)
        lines += [f" {blank} |", f" {number} | {span.source}", f" {blank} | {caret} {item.hint}".rstrip()]
    elif item.hint:
        lines.append(f"   = {item.hint}")
    return "\n".join(lines)
