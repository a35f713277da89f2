"""Both dialects of an emitted expression, on every row of a small table of values."""

import itertools
from typing import Any

import numpy
import pytest

from assay.core.kind import Kind
from assay.core.signal import SignalSpec
from assay.dsl.expr.emit import Emitter
from assay.dsl.expr.function import BUILTIN
from assay.dsl.expr.parse import parse_expression
from assay.dsl.expr.scalar import scalar_function
from assay.dsl.expr.scope import Scope

SCOPE = Scope(
    signals={
        "s": {
            "a": SignalSpec("a", Kind("bool")),
            "b": SignalSpec("b", Kind("bool")),
            "n": SignalSpec("n", Kind("int", 0.0)),
            "x": SignalSpec("x", Kind("float", 0.0, 1.0)),
            "mode": SignalSpec("mode", Kind("str")),
            "xs": SignalSpec("xs", Kind("list", item=Kind("float", 0.0, 1.0))),
            "fs": SignalSpec("fs", Kind("list", item=Kind("bool"))),
        }
    }
)
ROWS = [
    {"a": a, "b": b, "n": n, "x": x, "mode": mode, "xs": xs, "fs": [a, b]}
    for a, b, n, x, mode, xs in itertools.product(
        [True, False], [True, False], [0, 3], [0.0, 0.7], ["fast", "slow"], [[], [0.25, 0.5]]
    )
]
OBJECTS = {"mode", "xs", "fs"}


def columns(text: str) -> list[Any]:
    node, _ = parse_expression(text)
    assert node is not None
    emitter = Emitter(SCOPE, BUILTIN, "column")
    source = emitter.emit(node)
    local = {}
    for name, variable in emitter.names.items():
        signal = name.removeprefix("s.")
        column = numpy.empty(len(ROWS), dtype=object)
        column[:] = [row[signal] for row in ROWS]
        if signal not in OBJECTS:
            column = column.astype(numpy.bool_ if signal in ("a", "b") else numpy.float64)
        local[variable] = column
    with numpy.errstate(all="ignore"):
        result = eval(source, dict(emitter.globals), local)
    return numpy.broadcast_to(numpy.asarray(result), (len(ROWS),)).astype(numpy.float64).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "s.a + s.b",
        "s.a*s.b + s.a",
        "-s.a - s.b",
        "s.a - s.b if s.a else s.b - s.a",
        "min(s.a, s.b, s.x)",
        "not s.a and s.b or s.n > 2",
        "(s.a and s.b) + (s.a or s.b)",
        "1.0 if s.mode == \"fast\" else -1.0",
        "s.x*(s.mode != \"fast\")",
        "s.x/s.n if s.n > 0 else 0.5",
        "0 < s.n <= 3",
        "clip(s.n - 1, 0, 1)",
        "budget(s.n, 2)",
        "exp(s.x) + log1p(s.n) + sqrt(s.x)",
        "len(s.xs) + count(s.fs)",
        "any(s.fs) + all(s.fs)",
        "mean(s.xs, 0.125)",
        "mean(s.xs, s.x)",
        "spread(s.xs)",
        "s.n*s.n*s.n",
        "abs(s.n - 2)",
        "(s.a if s.b else s.a) + 1",
        "exp(2)",
        "3",
        "True + s.x",
    ],
)  # fmt: skip
def test_columns_give_what_rows_give(text: str) -> None:
    node, _ = parse_expression(text)
    assert node is not None
    scalar = scalar_function(node, SCOPE)
    assert [float(scalar({"s": row}, {})) for row in ROWS] == columns(text)
