"""Values of bound arguments: literals, fields and params become Python values by name."""

from collections.abc import Mapping
from typing import Any

from assay.core.error import AssayError
from assay.dsl.expr.node import Expr, Items, Num, Ref, Text, Truth, Unary
from assay.dsl.program import Use


def bind(use: Use, params: Mapping[str, float], fields: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the arguments of a call by parameter name.

    Args:
        use: The call.
        params: Of the program.
        fields: Of the task; None where a call must not depend on one.
    """
    return {argument.name: value_of(argument.value, params, fields or {}) for argument in use.arguments}


def value_of(node: Expr, params: Mapping[str, float], fields: Mapping[str, Any]) -> Any:
    """Return the value of one argument.

    Raises:
        AssayError: the node is no argument; the compiler lets none through.
    """
    match node:
        case Num():
            return int(node.text) if node.is_int else node.value
        case Text() | Truth():
            return node.value
        case Items():
            return [value_of(item, params, fields) for item in node.items]
        case Unary(sign="-"):
            return -value_of(node.item, params, fields)
        case Ref() if node.name in fields:
            return fields[node.name]
        case Ref() if node.name in params:
            return params[node.name]
    raise AssayError("an argument must be a literal, a field or a param", got=repr(node))
