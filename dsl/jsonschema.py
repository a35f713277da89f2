"""JSON Schema of domain and curriculum files, for editors; made from the same table as the checks."""

from collections.abc import Sequence as SequenceType
from typing import Any

from assay.core.error import PluginError
from assay.core.leaf import Verifier
from assay.core.registry import Registry
from assay.dsl.edition import CURRICULUM
from assay.dsl.expr.function import BUILTIN
from assay.dsl.expr.scope import TRACE
from assay.dsl.schema import Shape, describe
from assay.dsl.source.mark import Mapping, Node, Scalar

_SCALAR = {"type": ["string", "number", "boolean"]}


def json_schema(
    shape: Shape, registry: Registry | None = None, names: SequenceType[str] | None = None
) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a shape.

    Args:
        shape: `edition.DOMAIN` or `edition.CURRICULUM`.
        registry: Names to complete in calls; None for the bare schema.
        names: Names to complete in expressions, as `names_in` finds them; None for those of every file.
    """
    if names is None:
        names = _common_names(shape)
    schema = _Writer(registry, [*names, *(f"{name}()" for name in BUILTIN)]).schema(shape)
    title = "Assay curriculum" if shape is CURRICULUM else "Assay domain"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def names_in(tree: Mapping, shape: Shape, registry: Registry) -> list[str]:
    """Return what expressions of one file may name: its signals, fields and params, or its mix entries.

    The file may be half written: what cannot be read yet is left out.
    """
    if shape is CURRICULUM:
        return [*_common_names(shape), *(f"{n}.{what}" for n in _keys(tree, "mix") for what in ("pass_rate", "reward"))]
    names = [*_keys(tree, "fields"), *_keys(tree, "params")]
    verify = tree.get("verify")
    for entry in verify if isinstance(verify, Mapping) else ():
        call = entry.value.text if isinstance(entry.value, Scalar) else ""
        try:
            verifier: Verifier = registry.find("verifier", call.partition("(")[0].strip()).value
        except PluginError:
            continue
        names += [f"{entry.key.text}.{signal}" for signal in verifier.signals]
    return [*names, *_common_names(shape)]


def _common_names(shape: Shape) -> list[str]:
    return ["step"] if shape is CURRICULUM else ["success", *(f"trace.{name}" for name in TRACE)]


def _keys(tree: Mapping, section: str) -> list[str]:
    node: Node | None = tree.get(section)
    return [entry.key.text for entry in node] if isinstance(node, Mapping) else []


class _Writer:
    def __init__(self, registry: Registry | None, words: list[str]) -> None:
        self.registry = registry
        self.words = words

    def schema(self, shape: Shape) -> dict[str, Any]:
        body = self.body(shape)
        if shape.doc:
            body["description"] = shape.doc
        return body

    def body(self, shape: Shape) -> dict[str, Any]:
        match shape.form:
            case "keys":
                return {
                    "type": "object",
                    "properties": {name: self.schema(below) for name, below in shape.keys.items()},
                    "required": [name for name, below in shape.keys.items() if below.required],
                    "additionalProperties": False,
                }
            case "map":
                return {
                    "type": "object",
                    "properties": {name: self.schema(below) for name, below in shape.keys.items()},
                    "additionalProperties": self.schema(shape.item or Shape("value")),
                }
            case "list":
                return {"type": "array", "items": self.schema(shape.item or Shape("value"))}
            case "data":
                rows = {"type": "array", "items": {"type": "object"}}
                return {"anyOf": [self.call(shape), rows]}
            case "call":
                return self.call(shape)
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
                rules = self.registry.names("stage_rule") if self.registry and shape.expects == "stage_rule" else ()
                return {**_SCALAR, "examples": [*self.words, *(f"{name}()" for name in rules)]}
            case "count" | "param" | "bound":
                return {"type": ["string", "number"]}
        return {"type": ["string", "number"]} if shape.form == "text" else {"type": "string"}

    def call(self, shape: Shape) -> dict[str, Any]:
        names = self.registry.names(shape.expects) if self.registry is not None else ()
        schema: dict[str, Any] = {"type": "string", "pattern": r"^\s*[A-Za-z][\w.\-]*\s*\("}
        if names:
            schema["examples"] = [f"{name}()" for name in names]
        return schema | {"description": describe(shape)}
