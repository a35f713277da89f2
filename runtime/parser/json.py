"""`json(schema)`: a JSON value, checked against a JSON Schema where one is given.

The schema language is the part of JSON Schema that declared answers need: `type`, `enum`, `const`, `properties`,
`required`, `additionalProperties` (true or false), `items`, `minItems`, `maxItems`, `minimum`, `maximum`, `minLength`,
`maxLength`. Any other keyword that would constrain the value is refused, never skipped.
"""

import json
from typing import Any

from assay.core.leaf import parser
from assay.runtime.parser.text import fenced

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "number": (int, float), "integer": (int,),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
_NOTES = frozenset({"$schema", "$id", "$comment", "title", "description", "default", "examples"})
_KNOWN = frozenset(
    {"type", "enum", "const", "properties", "required", "additionalProperties", "items", "minItems", "maxItems",
     "minimum", "maximum", "minLength", "maxLength"}
)  # fmt: skip
_MAX_DEPTH = 64


@parser("json", version=1)
def json_value(text: str, schema: dict[str, Any] | None = None) -> str | None:
    """The JSON value that the whole text, or its last code block, is; rendered without spaces, keys in order."""
    for candidate in (text, fenced(text, "json"), fenced(text)):
        if candidate is None:
            continue
        try:
            value = read_json(candidate)
            rendered = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            rendered.encode()  # `\ud800` alone is no character: nobody could store such an answer
        except ValueError:
            continue
        return rendered if fits(value, schema or {}) else None
    return None


def read_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: no JSON, nested over 64 deep, a name twice in one object, a number that is not finite.
    """
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("JSON must not nest so deep") from None
    if _depth(value) > _MAX_DEPTH:
        raise ValueError(f"JSON must nest at most {_MAX_DEPTH} deep")
    return value


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a JSON value satisfies a schema.

    Raises:
        ValueError: the schema holds a keyword that is not supported; that is the domain's fault.
    """
    if unknown := sorted(set(schema) - _KNOWN - _NOTES):
        raise ValueError(f"a json schema must keep to {', '.join(sorted(_KNOWN))}, got {', '.join(unknown)}")
    kinds = schema.get("type", list(_TYPES))
    if not any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return False
    if "enum" in schema and not any(same(value, choice) for choice in schema["enum"]):
        return False
    if "const" in schema and not same(value, schema["const"]):
        return False
    if isinstance(value, dict):
        return _fits_object(value, schema)
    if isinstance(value, list):
        items = schema.get("items", {})
        return _within(len(value), schema, "minItems", "maxItems") and all(fits(item, items) for item in value)
    if isinstance(value, str):
        return _within(len(value), schema, "minLength", "maxLength")
    return isinstance(value, bool) or value is None or _within(value, schema, "minimum", "maximum")


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, true is not 1, the order of keys means nothing."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(item, right[key]) for key, item in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def _fits_object(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    properties = schema.get("properties", {})
    if any(name not in value for name in schema.get("required", ())):
        return False
    if schema.get("additionalProperties", True) is False and not value.keys() <= properties.keys():
        return False
    return all(fits(item, properties.get(name, {})) for name, item in value.items())


def _is(value: Any, kind: str) -> bool:
    if kind not in _TYPES:
        raise ValueError(f"a json type must be one of {', '.join(_TYPES)}, got {kind!r}")
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, float) and value.is_integer())


def _within(size: float, schema: dict[str, Any], low: str, high: str) -> bool:
    return bool(schema.get(low, size) <= size <= schema.get(high, size))


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level:
        deepest += 1
        level = [child for item in level if isinstance(item, (dict, list)) for child in _children(item)]
    return deepest


def _children(item: dict[str, Any] | list[Any]) -> list[Any]:
    return list(item.values()) if isinstance(item, dict) else item


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found
