"""JSON Schema of domain and curriculum files, for editors; made from the same table as the checks."""

from typing import Any

from assay.core.registry import Registry
from assay.dsl.expr.function import BUILTIN
from assay.dsl.expr.scope import TRACE
from assay.dsl.schema import Shape, describe

_SCALAR = {"type": ["string", "number", "boolean"]}


def json_schema(shape: Shape, registry: Registry | None = None) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a shape.

    Args:
        shape: `edition.DOMAIN` or `edition.CURRICULUM`.
        registry: Names to complete in calls; None for the bare schema.
    """
    schema = _schema(shape, registry)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"Assay: {shape.doc}", **schema}


def _schema(shape: Shape, registry: Registry | None) -> dict[str, Any]:
    body = _body(shape, registry)
    if shape.doc:
        body["description"] = shape.doc
    return body


def _body(shape: Shape, registry: Registry | None) -> dict[str, Any]:
    match shape.form:
        case "keys":
            return {
                "type": "object",
                "properties": {name: _schema(below, registry) for name, below in shape.keys.items()},
                "required": [name for name, below in shape.keys.items() if below.required],
                "additionalProperties": False,
            }
        case "map":
            item = shape.item or Shape("value")
            return {
                "type": "object",
                "properties": {name: _schema(below, registry) for name, below in shape.keys.items()},
                "additionalProperties": _schema(item, registry),
            }
        case "list":
            return {"type": "array", "items": _schema(shape.item or Shape("value"), registry)}
        case "data":
            rows = {"type": "array", "items": {"type": "object"}}
            return {"anyOf": [_call(shape, registry), rows]}
        case "call":
            return _call(shape, registry)
        case "choice":
            return {"enum": list(shape.choices)}
        case "int":
            return {"type": "integer"} | ({} if shape.lo is None else {"minimum": shape.lo})
        case "number":
            return {"type": ["number", "string"]} | ({} if shape.lo is None else {"minimum": shape.lo})
        case "bool":
            return {"type": "boolean"}
        case "value":
            return {}
        case "expr":
            return {**_SCALAR, "examples": _expression_words()}
        case "count" | "param" | "bound":
            return {"type": ["string", "number"]}
    return {"type": ["string", "number"]} if shape.form == "text" else {"type": "string"}


def _call(shape: Shape, registry: Registry | None) -> dict[str, Any]:
    names = registry.names(shape.expects) if registry is not None else ()
    schema: dict[str, Any] = {"type": "string", "pattern": r"^\s*[A-Za-z][\w.\-]*\s*\("}
    if names:
        schema["examples"] = [f"{name}()" for name in names]
    return schema | {"description": describe(shape)}


def _expression_words() -> list[str]:
    return [*(f"trace.{name}" for name in TRACE), *(f"{name}()" for name in BUILTIN)]
