"""Templates: texts in which `{field}` is replaced.

Only a field's name may stand in braces; `{{` and `}}` are braces themselves, and a lone `}` is one as well.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class TemplateFault(msgspec.Struct, frozen=True):
    """What is wrong with one brace; `start` and `end` in code points."""

    code: str
    message: str
    name: str
    start: int
    end: int


def check_template(text: str, fields: Collection[str]) -> tuple[list[TemplateFault], set[str]]:
    """Return the faults of a template and the fields it uses."""
    faults: list[TemplateFault] = []
    used: set[str] = set()
    for match in _PART.finditer(text):
        name = match[1]
        if match[0] in ("{{", "}}"):
            continue
        if name is None or _NAME.fullmatch(name) is None:
            message = "an opening brace must begin {field}"
            faults.append(TemplateFault("RX002", message, "", match.start(), max(match.end(), match.start() + 1)))
        elif name not in fields:
            faults.append(TemplateFault("RX001", f"unknown field `{name}`", name, match.start() + 1, match.end() - 1))
            used.add(name)
        else:
            used.add(name)
    return faults, used


def fill(text: str, fields: Mapping[str, Any]) -> str:
    """Return a checked template with its fields put in; lists and mappings as JSON."""

    def part(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        return _show(fields[match[1]])

    return _PART.sub(part, text)


def _show(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
