"""From a checked expression to Python source, in two dialects with identical results.

`scalar` works on one episode's plain values, `column` on numpy columns. Everything numeric is float64 in both: whole
literals are written as floats, and a product or sum of two whole signals is taken as float, so that no result depends
on Python's unbounded integers. `exp` and `log1p` use the C library in both, because numpy's own differ in the last bit.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from assay.core.kind import Kind
from assay.dsl.expr.function import BUILTIN, Entry, bind
from assay.dsl.expr.node import (
    Binary,
    Call,
    Choose,
    Compare,
    Expr,
    Items,
    Logic,
    Num,
    Ref,
    Signal,
    Text,
    Truth,
    Unary,
)
from assay.dsl.expr.scope import Scope, key

Dialect = Literal["scalar", "column"]


class Emitter:
    """Writes expressions of one program.

    Attributes:
        names: Local variable of each field and signal met so far, by key, in the order met.
        globals: What the written source needs to run.
    """

    def __init__(self, scope: Scope, functions: Mapping[str, Entry], dialect: Dialect) -> None:
        self.scope = scope
        self.functions = functions
        self.is_column = dialect == "column"
        self.names: dict[str, str] = {}
        self.globals: dict[str, Any] = {"__builtins__": {}, "float": float}
        if self.is_column:
            import numpy

            self.globals |= {"where": numpy.where, "f8": _as_float, "truth": numpy.logical_not}

    def emit(self, node: Expr) -> str:
        """Return the source of an expression, in parentheses where needed."""
        match node:
            case Num():
                return "(1e999)" if "e999" in node.text else f"({float(node.text)!r})"
            case Text() | Truth():
                return repr(node.value)
            case Ref(name="success") if self.scope.success is not None:
                return self.emit(self.scope.success)
            case Ref() if node.name in self.scope.params:
                return f"({float(self.scope.params[node.name])!r})"
            case Ref() | Signal():
                return self.names.setdefault(key(node), f"v{len(self.names)}")
            case Unary(sign="not"):
                return f"truth({self.emit(node.item)})" if self.is_column else f"(not {self.emit(node.item)})"
            case Unary():
                return f"({node.sign}{self.number(node.item)})"
            case Binary():
                return self.binary(node)
            case Compare():
                return self.compare(node)
            case Logic():
                sign = {"and": "&", "or": "|"}[node.sign] if self.is_column else node.sign
                return "(" + f" {sign} ".join(self.emit(item) for item in node.items) + ")"
            case Choose():
                return self.choose(node)
            case Call():
                return self.call(node)
            case Items():
                return self.items(node)

    def number(self, node: Expr) -> str:
        """Return a source that takes part in arithmetic: numpy would read bool columns as logic."""
        text = self.emit(node)
        return f"f8({text})" if self.is_column and self.is_bool(node) else text

    def binary(self, node: Binary) -> str:
        left, right = self.number(node.left), self.number(node.right)
        if node.sign != "/" and not self.is_column and self.is_whole(node.left) and self.is_whole(node.right):
            left = f"float({left})"
        return f"({left} {node.sign} {right})"

    def compare(self, node: Compare) -> str:
        items = [self.number(item) for item in node.items]
        if not self.is_column:
            return "(" + items[0] + "".join(f" {s} {i}" for s, i in zip(node.signs, items[1:], strict=True)) + ")"
        links = [f"({a} {s} {b})" for s, a, b in zip(node.signs, items, items[1:], strict=False)]
        return "(" + " & ".join(links) + ")"

    def choose(self, node: Choose) -> str:
        is_bool = self.is_bool(node)
        then, otherwise = (self.emit(n) if is_bool else self.number(n) for n in (node.then, node.otherwise))
        condition = self.emit(node.condition)
        return (
            f"where({condition}, {then}, {otherwise})"
            if self.is_column
            else f"({then} if {condition} else {otherwise})"
        )

    def call(self, node: Call) -> str:
        entry = self.functions[node.function]
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        places = bind(entry, len(node.args), [keyword.name for keyword in node.keywords])
        assert not isinstance(places, str)
        ordered = [value for _, value in sorted(zip(places, values, strict=True), key=lambda pair: pair[0])]
        name = f"f_{node.function}".replace(".", "_")
        self.globals[name] = _column_of(entry) if self.is_column else entry.scalar
        return f"{name}({', '.join(self.number(value) for value in ordered)})"

    def items(self, node: Items) -> str:
        text = f"[{', '.join(self.emit(item) for item in node.items)}]"
        if not self.is_column:
            return text
        # One value for all rows: numpy would take a list for a column.
        name = f"c{len(self.globals)}"
        self.globals[name] = _one(eval(text, {"__builtins__": {}}))
        return name

    def is_bool(self, node: Expr) -> bool:
        """Whether the value is a truth."""
        match node:
            case Truth() | Compare() | Logic() | Unary(sign="not"):
                return True
            case Ref() | Signal():
                kind = self.scope.kind(node)
                return kind is not None and kind.name == "bool"
            case Choose():
                return self.is_bool(node.then) and self.is_bool(node.otherwise)
            case Call():
                gives = self.functions[node.function].gives
                return gives is not None and gives.name == "bool"
        return False

    def is_whole(self, node: Expr) -> bool:
        """Whether the scalar source may give a Python int beyond 0 and 1."""
        match node:
            case Ref() | Signal():
                kind = self.scope.kind(node)
                return kind is not None and kind.name == "int" and not (isinstance(node, Ref) and self.is_param(node))
            case Unary():
                return node.sign != "not" and self.is_whole(node.item)
            case Binary():
                return False
            case Choose():
                return self.is_whole(node.then) or self.is_whole(node.otherwise)
            case Call():
                gives: Kind | None = self.functions[node.function].gives
                return gives is None or gives.name == "int"
        return False

    def is_param(self, node: Ref) -> bool:
        """Whether a name is a param, which is written as a float."""
        return node.name in self.scope.params


def _one(value: Any) -> Any:
    import numpy

    holder = numpy.empty((), dtype=object)
    holder[()] = value
    return holder


def _as_float(value: Any) -> Any:
    import numpy

    return numpy.asarray(value, dtype=numpy.float64)


def _column_of(entry: Entry) -> Callable[..., Any]:
    """Return the column form of a function; without one, the scalar form row by row."""
    if entry.column is not None:
        return entry.column
    import numpy

    result = numpy.bool_ if entry.gives is not None and entry.gives.name == "bool" else numpy.float64

    def rows(*args: Any) -> Any:
        arrays = [numpy.asarray(arg) for arg in args]
        if all(array.ndim == 0 for array in arrays):
            return _row(entry.scalar, tuple(array.item() for array in arrays))
        size = max(len(array) for array in arrays if array.ndim)
        columns = [array.tolist() if array.ndim else [array.item()] * size for array in arrays]
        return numpy.fromiter((_row(entry.scalar, values) for values in zip(*columns, strict=True)), result, size)

    return rows


def _row(scalar: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    # A masked branch is computed for every row; what is undefined there is never looked at.
    try:
        return scalar(*values)
    except (ValueError, ZeroDivisionError, OverflowError):
        return float("nan")


assert BUILTIN["exp"].column is None
assert BUILTIN["log1p"].column is None
