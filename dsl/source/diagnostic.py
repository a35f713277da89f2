"""Findings: what the compiler says about a text, for people and for programs."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from assay.dsl.source.mark import Span

Severity = Literal["error", "warning"]

# Everything else is an error.
WARNINGS = frozenset({"RW010", "RW020", "RW021", "RW022", "RW023"})

# Line of a file shown in full; longer ones are cut.
MAX_SHOWN = 200
# Control characters, line separators and bidirectional controls.
ACTING = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Finding(msgspec.Struct, frozen=True):
    """One problem.

    Attributes:
        code: Stable, with a page in `docs/errors`.
        severity: An error stops; a warning does under `--strict`.
        span: The smallest faulty expression.
        message: What must hold and what came, without a full stop.
        hint: The way out; empty where there is none to give.
        at: Dotted path of the declaration it is about, such as `reward.process.invalid`; what `allow:` matches.
        extent: Line and column of the start and end of a misread expression (YM004), of which `span` is one point.
    """

    code: str
    severity: Severity
    span: Span
    message: str
    hint: str = ""
    at: str = ""
    extent: tuple[tuple[int, int], tuple[int, int]] | None = None

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
    """Return findings by path, line and column, each once.

    What YAML misread (YM004) has that one cause: that the repaired text does not parse (RX002) or fit its place (YM003)
    is left out.
    """
    kept: dict[tuple[str, int, int, str, str], Finding] = {}
    misread: dict[str, list[Finding]] = {}
    for item in findings:
        kept.setdefault((item.span.path, item.span.line, item.span.column, item.code, item.message), item)
        if item.extent is not None:
            misread.setdefault(item.span.path, []).append(item)
    ordered = [kept[key] for key in sorted(kept)]
    return [item for item in ordered if item.code not in ("RX002", "YM003") or not _is_misread(item, misread)]


def _is_misread(item: Finding, misread: dict[str, list[Finding]]) -> bool:
    place = (item.span.line, item.span.column)
    extents = (other.extent for other in misread.get(item.span.path, ()))
    return any(extent is not None and extent[0] <= place <= extent[1] for extent in extents)


def render(item: Finding) -> str:
    """Return a finding with its line and a caret under the faulty part.

    The caret is aligned for a terminal: wide characters take two cells, combining ones none. A line too long to read is
    cut around the caret, and characters that would act on the terminal are shown as U+FFFD.
    """
    span = item.span
    number = f"{span.line:>2}"
    blank = " " * len(number)
    lines = [
        f"{item.severity}[{item.code}]: {_shown(item.message)}",
        f"{blank}--> {span.path}:{span.line}:{span.column}",
    ]
    if span.source:
        source, start, end = _window(span)
        # A tab before the caret stays a tab, so that the caret stands under its character.
        lead = "".join("\t" if char == "\t" else " " * _cells(char) for char in source[:start])
        caret = lead + "^" * max(1, sum(_cells(char) for char in source[start:end]), end - len(source))
        lines += [f"{blank} |", f"{number} | {_shown(source)}", f"{blank} | {caret} {_shown(item.hint)}".rstrip()]
    elif item.hint:
        lines.append(f"{blank} = {_shown(item.hint)}")
    return "\n".join(lines)


def _window(span: Span) -> tuple[str, int, int]:
    """Return the part of the line to show, and where the caret starts and ends in it."""
    start, end = span.column - 1, max(span.column, span.end_column - 1)
    if len(span.source) <= MAX_SHOWN:
        return span.source, start, end
    left = max(0, min(start - MAX_SHOWN // 4, len(span.source) - MAX_SHOWN))
    right = left + MAX_SHOWN
    head, tail = "..." if left else "", "..." if right < len(span.source) else ""
    shift = len(head) - left
    return head + span.source[left:right] + tail, start + shift, min(end, right) + shift


def _cells(char: str) -> int:
    """Return how many cells of a terminal a character takes."""
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _shown(text: str) -> str:
    """Return a text without characters that act on a terminal instead of showing."""
    return ACTING.sub("\ufffd", text)
