"""One expression as a Python function of plain values."""

from collections.abc import Callable, Mapping
from typing import Any

from assay.dsl.expr.emit import Emitter
from assay.dsl.expr.function import BUILTIN, Entry
from assay.dsl.expr.node import Expr
from assay.dsl.expr.scope import Scope

Scalar = Callable[[Mapping[str, Mapping[str, Any]], Mapping[str, Any]], Any]


def scalar_function(node: Expr, scope: Scope | None = None, functions: Mapping[str, Entry] = BUILTIN) -> Scalar:
    """Return `(signals, fields) -> value` of a checked expression.

    A name that is not there when the function is called is a KeyError.
    """
    emitter = Emitter(scope or Scope(), functions, "scalar")
    value = emitter.emit(node)
    return execute("\n".join(["def one(s, f):", *loads(emitter, 0), f"    return {value}"]), "one", emitter)


def loads(emitter: Emitter, since: int) -> list[str]:
    """Return lines that read into local variables the names met since the first `since` ones."""
    lines = []
    for name, local in list(emitter.names.items())[since:]:
        owner, _, signal = name.partition(".")
        place = f"s[{owner!r}][{signal!r}]" if signal else f"f[{owner!r}]"
        lines.append(f"    {local} = {place}")
    return lines


def execute(source: str, name: str, emitter: Emitter) -> Callable[..., Any]:
    """Return the function that an emitted source defines.

    The source holds only operators, float literals, quoted names and functions from the emitter's table.
    """
    namespace = dict(emitter.globals)
    exec(compile(source, f"<{name}>", "exec"), namespace)
    function: Callable[..., Any] = namespace[name]
    return function
