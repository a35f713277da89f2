"""Difficulty levels of a mix entry: attributes of its source, their values from easy to hard; with CU001.

What an attribute is, the source says: a parameter has a type, and a source with a ladder of its own names attributes
and their values. `auto` stands for all values of the ladder.
"""

from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence
from typing import Any

import msgspec

from assay.core.kind import ANY, Kind, accepts
from assay.core.leaf import SourceLeaf
from assay.core.name import suggestion
from assay.core.registry import Registry
from assay.dsl.leaf import call_arguments
from assay.dsl.program import Rows, Use
from assay.dsl.rows import plain_value
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Entry, Mapping, Node, Scalar, Sequence

AUTO = "auto"
# So many values of a ladder are shown in a hint.
_SHOWN = 6


class Attribute(msgspec.Struct, frozen=True):
    """What may be written for one attribute.

    Attributes:
        kind: Of a value.
        ladder: The source's own values, from easy to hard; empty where it states none.
    """

    kind: Kind
    ladder: tuple[Any, ...] = ()


def read_levels(
    node: Mapping, data: Use | Rows | None, params: AbstractMapping[str, Any], registry: Registry
) -> tuple[dict[str, list[Any]], list[Finding]]:
    """Return the values of each attribute, and what is wrong with them.

    Args:
        node: Attributes by name.
        data: The entry's `data.train`; None where it could not be read.
        params: Of the domain.
        registry: What is installed.
    """
    if data is None:
        return {}, []
    if isinstance(data, Rows):
        message = "levels must be of a source, got rows written out"
        return {}, [finding("CU001", node.span, message, "name a source in `data.train`")]
    offer = registry.find("source", data.leaf)
    try:
        known, is_open = attributes(offer.value, data, params)
    except Exception as error:  # the ladder is a plugin's code
        message = f"source `{data.leaf}` of {offer.dist} must say its levels, got {type(error).__name__}: {error}"
        return {}, [finding("CU001", node.span, message)]
    levels: dict[str, list[Any]] = {}
    findings: list[Finding] = []
    for entry in node:
        name = entry.key.text
        if name not in known and not is_open:
            message = f"source `{data.leaf}` has no attribute `{name}`"
            hint = suggestion(name, known) or f"it has {', '.join(known) or 'none'}"
            findings.append(finding("CU001", entry.key.span, message, hint))
            continue
        values, found = _values(entry, known.get(name, Attribute(ANY)))
        findings += found
        if not found:
            levels[name] = values
    return levels, findings


def attributes(leaf: SourceLeaf, use: Use, params: AbstractMapping[str, Any]) -> tuple[dict[str, Attribute], bool]:
    """Return the attributes of a source's call, and whether it takes others that it does not name.

    Raises:
        Exception: whatever the source's ladder raises.
    """
    known = {one.name: Attribute(one.kind) for one in leaf.bound_parameters if not one.is_variadic}
    ladder = leaf.ladder(call_arguments(use, params)[1])
    for name, values in (ladder or {}).items():
        kind = known[name].kind if name in known else _common(values)
        known[name] = Attribute(kind, tuple(values))
    is_open = any(one.is_variadic and one.is_keyword_only for one in leaf.bound_parameters)
    return known, is_open and ladder is None


def _values(entry: Entry, attribute: Attribute) -> tuple[list[Any], list[Finding]]:
    name, node = entry.key.text, entry.value
    if isinstance(node, Scalar) and node.text == AUTO and not node.is_quoted:
        if attribute.ladder:
            return list(attribute.ladder), []
        message = f"`{name}` must have a list of values, got auto of a source that states none"
        return [], [finding("CU001", node.span, message, f"write `{name}: [easy, hard]`")]
    if not isinstance(node, Sequence) or not node.items:
        hint = f"such as {_show(attribute.ladder)}, or `auto`" if attribute.ladder else f"write `{name}: [easy, hard]`"
        return [], [finding("CU001", node.span, f"`{name}` must have a list of values from easy to hard", hint)]
    values = [plain_value(item) for item in node.items]
    findings = []
    for index, (item, value) in enumerate(zip(node.items, values, strict=True)):
        reason = _misfit(name, value, attribute) or _disorder(name, values[:index], value, attribute.ladder)
        if reason:
            hint = f"its source has {_show(attribute.ladder)}" if attribute.ladder else ""
            findings.append(finding("CU001", _scalar(item).span, reason, hint))
    return values, findings


def _misfit(name: str, value: Any, attribute: Attribute) -> str:
    kind = kind_of(value)
    if kind.is_text and attribute.ladder and attribute.kind.name == "str" and value not in attribute.ladder:
        return f"`{name}` must be one of its source's values, got {value!r}"
    return "" if accepts(attribute.kind, kind) else f"`{name}` must be {attribute.kind}, got {value!r}"


def _disorder(name: str, before: AbstractSequence[Any], value: Any, ladder: AbstractSequence[Any]) -> str:
    """Say why a value cannot follow those before it: it is among them, or the ladder goes the other way."""
    if value in before:
        return f"`{name}` must have different values, got {value!r} twice"
    numbers = [one for one in (*ladder, *before[-1:], value) if isinstance(one, (int, float))]
    if not before or len(ladder) < 2 or len(numbers) < len(ladder) + 2:
        return ""
    rises = ladder[-1] > ladder[0]
    if (value > before[-1]) == rises:
        return ""
    return f"`{name}` must go from easy to hard, got {value!r} behind {before[-1]!r}"


def kind_of(value: Any) -> Kind:
    """Return the kind of a plain value."""
    match value:
        case None:
            return Kind("none")
        case bool():
            return Kind("bool")
        case int() | float():
            return Kind("int" if isinstance(value, int) else "float")
        case str():
            return Kind("literal", choices=(value,))
        case list() | tuple():
            return Kind("list", item=_common(value) if value else None)
    return ANY


def _common(values: AbstractSequence[Any]) -> Kind:
    """Return the kind that all values have; any where they have none."""
    kinds = [kind_of(value) for value in values]
    names = {"str" if kind.name == "literal" else kind.name for kind in kinds}
    if names == {"int", "float"}:
        return Kind("float")
    if names == {"list"}:
        return Kind("list", item=_common([one for value in values for one in value]))
    return Kind(names.pop()) if len(names) == 1 else ANY


def _show(ladder: AbstractSequence[Any]) -> str:
    shown = ", ".join(str(value) for value in ladder[:_SHOWN])
    return f"[{shown}{', ...' if len(ladder) > _SHOWN else ''}]"


def _scalar(node: Node) -> Node:
    """Return a node whose span has one line: the first scalar in it."""
    while isinstance(node, Sequence) and node.items:
        node = node.items[0]
    return node
