"""Rows of tasks: from marked nodes or a source's dicts to field values, or DA001."""

from collections.abc import Mapping as MappingType
from typing import Any

from assay.core.kind import Kind, misfit
from assay.dsl.schema import read_number
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Mapping, Node, Scalar, Sequence

COMPLETION = "completion"


def split_fields(fields: MappingType[str, Kind], split: str) -> dict[str, Kind]:
    """Return the fields that a row of a split has: demonstrations carry a completion."""
    return {**fields, COMPLETION: Kind("str")} if split == "demos" else dict(fields)


def read_row(node: Node, fields: MappingType[str, Kind], number: int, at: str) -> tuple[dict[str, Any], list[Finding]]:
    """Return the values of a row written in a declaration, and DA001 for all that does not fit."""
    if not isinstance(node, Mapping):
        return {}, [finding("DA001", node.span, f"row {number} must be a mapping of fields", "", at)]
    findings: list[Finding] = []
    values: dict[str, Any] = {}
    for entry in node:
        name = entry.key.text
        kind = fields.get(name)
        if kind is None:
            known = ", ".join(fields)
            message = f"row {number} has a field `{name}` that `fields` does not declare"
            findings.append(finding("DA001", entry.key.span, message, f"fields: {known}", at))
            continue
        value, reason = read_value(entry.value, kind)
        if reason is not None:
            findings.append(finding("DA001", entry.value.span, f"row {number}: field `{name}` {reason}", "", at))
        values[name] = value
    for name in fields:
        if node.entry(name) is None:
            findings.append(finding("DA001", node.span, f"row {number} must have the field `{name}`", "", at))
    return values, findings


def check_row(values: object, fields: MappingType[str, Kind]) -> str | None:
    """Say why a row that a source gave does not fit; None where it does. Further keys are no fault."""
    if not isinstance(values, dict):
        return f"must be a mapping of fields, got {type(values).__name__}"
    for name, kind in fields.items():
        if name not in values:
            return f"must have the field `{name}`"
        if (reason := misfit(kind, values[name])) is not None:
            return f"field `{name}` {reason}"
    return None


def row_key(values: MappingType[str, Any], fields: MappingType[str, Kind]) -> str:
    """Return what two rows have in common whose fields are equal, whatever further keys a source gave."""
    return repr([values.get(name) for name in fields])


def read_value(node: Node, kind: Kind) -> tuple[Any, str | None]:
    """Return the value of a node as a kind, or why it is none. The kind decides, never the spelling."""
    if kind.name == "optional" and kind.item is not None:
        if isinstance(node, Scalar) and (node.is_null or (_is_plain(node) and node.text in ("null", "~"))):
            return None, None
        return read_value(node, kind.item)
    if kind.name in ("json", "any", "image") or kind.name not in _KNOWN:
        return plain_value(node), None
    if kind.name == "list":
        if not isinstance(node, Sequence):
            return None, f"must be {kind}"
        items = []
        for index, child in enumerate(node.items):
            value, reason = read_value(child, kind.item or Kind("any"))
            if reason is not None:
                return None, f"item {index} {reason}"
            items.append(value)
        return items, None
    if not isinstance(node, Scalar) or node.is_null:
        return None, f"must be {kind}, got {'nothing' if isinstance(node, Scalar) else 'a list or mapping'}"
    value = _scalar(node, kind)
    return value, misfit(kind, value)


def plain_value(node: Node) -> Any:
    """Return a node as JSON would read it: plain scalars may be null, true, false or a number."""
    if isinstance(node, Mapping):
        return {entry.key.text: plain_value(entry.value) for entry in node}
    if isinstance(node, Sequence):
        return [plain_value(item) for item in node.items]
    if node.is_null:
        return None
    if not _is_plain(node):
        return node.text
    if node.text in ("null", "true", "false"):
        return {"null": None, "true": True, "false": False}[node.text]
    try:
        return read_number(node.text)
    except ValueError:
        return node.text


_KNOWN = frozenset({"bool", "int", "float", "str", "path", "literal", "list", "optional"})


def _scalar(node: Scalar, kind: Kind) -> Any:
    if kind.name == "bool":
        return {"true": True, "false": False}.get(node.text, node.text)
    if kind.name in ("int", "float"):
        try:
            value = read_number(node.text)
        except ValueError:
            return node.text
        return float(value) if kind.name == "float" else value
    return node.text


def _is_plain(node: Scalar) -> bool:
    return not node.is_quoted
