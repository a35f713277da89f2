"""Random well-typed expressions and random values of their names."""

import math
from typing import Any

from hypothesis import strategies as st

from assay.core.kind import Kind
from assay.core.signal import SignalSpec
from assay.dsl.expr.node import (
    Binary,
    Call,
    Choose,
    Compare,
    Expr,
    Logic,
    Num,
    Ref,
    Signal,
    Truth,
    Unary,
    number,
)
from assay.dsl.expr.scope import Scope

# No units: expressions of every shape are then well typed, and units have tests of their own.
SIGNALS = {
    "m": {
        spec.name: spec
        for spec in (
            SignalSpec("good", Kind("bool"), None, "up"),
            SignalSpec("bad", Kind("bool"), None, "down"),
            SignalSpec("rate", Kind("float", 0.0, 1.0), None, "up"),
            SignalSpec("loss", Kind("float", 0.0), None, "down"),
            SignalSpec("delta", Kind("float", -2.0, 3.0)),
            SignalSpec("failed", Kind("int", 0.0, 50.0), None, "down"),
            SignalSpec("passed", Kind("int", 0.0), None, "up"),
            SignalSpec("offset", Kind("int", -5.0, 5.0)),
            SignalSpec("tiny", Kind("float", 1e-9, 1e-3)),
            SignalSpec("scores", Kind("list", item=Kind("float", 0.0, 1.0))),
            SignalSpec("flags", Kind("list", item=Kind("bool"))),
        )
    }
}
SCOPE = Scope(
    fields={"weight": Kind("float", 0.0, 2.0), "size": Kind("int", 1.0, 9.0), "free": Kind("float")},
    params={"bonus": 0.5, "cap": 20, "shift": -1.25},
    signals=SIGNALS,
    success=Compare(signs=(">=",), items=(Signal(owner="m", name="rate"), Num(text="0.5"))),
)
NUMBERS = ("rate", "loss", "delta", "failed", "passed", "offset", "tiny")

_constants = st.one_of(
    st.integers(-20, 20).map(number),
    st.floats(-100, 100, allow_nan=False).map(number),
    st.sampled_from([0.0, 0.1, 1.0, 2.0, 1e-9, 1e9, 0.3]).map(number),
)
_numbers = st.one_of(
    st.sampled_from(NUMBERS).map(lambda name: Signal(owner="m", name=name)),
    st.sampled_from(["weight", "size", "bonus", "cap", "shift", "free"]).map(lambda name: Ref(name=name)),
    _constants,
)
_bools = st.one_of(
    st.sampled_from(["good", "bad"]).map(lambda name: Signal(owner="m", name=name)),
    st.just(Ref(name="success")),
    st.booleans().map(lambda value: Truth(value=value)),
)
_comparisons = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])


def numbers(depth: int = 3) -> st.SearchStrategy[Expr]:
    """Return well-typed numeric expressions."""
    if depth == 0:
        return st.one_of(_numbers, _bools)
    inner, conditions = numbers(depth - 1), bools(depth - 1)
    lists = st.sampled_from(["scores"]).map(lambda name: Signal(owner="m", name=name))
    return st.one_of(
        _numbers,
        st.builds(lambda s, a, b: Binary(sign=s, left=a, right=b), st.sampled_from("+-*/"), inner, inner),
        st.builds(lambda a: Unary(sign="-", item=a), inner),
        st.builds(lambda c, a, b: Choose(condition=c, then=a, otherwise=b), conditions, inner, inner),
        st.builds(lambda f, a, b: Call(function=f, args=(a, b)), st.sampled_from(["min", "max"]), inner, inner),
        st.builds(lambda a: Call(function="abs", args=(a,)), inner),
        st.builds(lambda f, a: Call(function=f, args=(a,)), st.sampled_from(["exp", "log1p", "sqrt"]), inner),
        st.builds(lambda a, b: Call(function="budget", args=(a, b)), inner, _numbers),
        st.builds(lambda a, b, c: Call(function="clip", args=(a, b, c)), inner, _constants, _constants),
        st.builds(lambda a, b: Call(function="mean", args=(a, b)), lists, inner),
        st.builds(lambda a: Call(function="len", args=(a,)), lists),
        conditions,
    )


def bools(depth: int = 2) -> st.SearchStrategy[Expr]:
    """Return well-typed conditions."""
    if depth == 0:
        return _bools
    inner, sides = bools(depth - 1), numbers(depth - 1)
    against = st.one_of(_constants, sides)
    flags = Signal(owner="m", name="flags")
    return st.one_of(
        _bools,
        st.builds(lambda s, a, b: Compare(signs=(s,), items=(a, b)), _comparisons, sides, against),
        st.builds(
            lambda s, t, a, b, c: Compare(signs=(s, t), items=(a, b, c)),
            _comparisons,
            _comparisons,
            against,
            sides,
            against,
        ),
        st.builds(
            lambda s, a: Logic(sign=s, items=tuple(a)),
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=3),
        ),
        st.builds(lambda a: Unary(sign="not", item=a), inner),
        st.sampled_from(["any", "all"]).map(lambda f: Call(function=f, args=(flags,))),
    )


def _value(kind: Kind) -> st.SearchStrategy[Any]:
    if kind.name == "bool":
        return st.booleans()
    if kind.name == "list":
        assert kind.item is not None
        return st.lists(_value(kind.item), max_size=4)
    lo = -1e6 if kind.lo is None else kind.lo
    hi = 1e6 if kind.hi is None else kind.hi
    ends = [end for end in (lo, hi, 0.0, 1.0, lo + 1, hi - 1) if lo <= end <= hi]
    if kind.name == "int":
        return st.one_of(
            st.sampled_from([int(end) for end in ends if end == int(end)]), st.integers(math.ceil(lo), int(hi))
        )
    return st.one_of(st.sampled_from(ends), st.floats(lo, hi, allow_nan=False, allow_subnormal=False))


signals = st.fixed_dictionaries({name: _value(spec.kind) for name, spec in SIGNALS["m"].items()})
fields = st.fixed_dictionaries({name: _value(kind) for name, kind in SCOPE.fields.items()})
