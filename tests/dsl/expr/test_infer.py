"""Ranges, directions and narrowing of single expressions, by hand."""

import pytest

from assay.core.kind import Kind
from assay.core.signal import SignalSpec
from assay.dsl.expr.function import BUILTIN
from assay.dsl.expr.infer import infer
from assay.dsl.expr.interval import Interval
from assay.dsl.expr.narrow import narrow
from assay.dsl.expr.parse import parse_expression
from assay.dsl.expr.scope import Scope

SCOPE = Scope(
    params={"k": 2.0},
    signals={
        "s": {
            "x": SignalSpec("x", Kind("float", 0.0, 1.0)),
            "y": SignalSpec("y", Kind("float", -1.0, 2.0)),
            "n": SignalSpec("n", Kind("int", 0.0, 9.0)),
            "m": SignalSpec("m", Kind("int", 0.0)),
            "b": SignalSpec("b", Kind("bool")),
        }
    },
)


def signs(text: str) -> dict[str, str]:
    node, _ = parse_expression(text)
    assert node is not None
    return {name.removeprefix("s."): sign for name, sign in infer(node, SCOPE, BUILTIN).signs.items()}


def known(text: str, *, holds: bool = True) -> dict[str, tuple[float, float]] | None:
    node, _ = parse_expression(text)
    assert node is not None
    narrowed = narrow(node, {}, SCOPE, holds=holds)
    if narrowed is None:
        return None
    return {name.removeprefix("s."): (interval.lo, interval.hi) for name, interval in narrowed.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s.x", {"x": "+"}),
        ("-s.x", {"x": "-"}),
        ("1 - s.x", {"x": "-"}),
        ("s.x*s.n", {"x": "+", "n": "+"}),
        ("s.x*-2", {"x": "-"}),
        ("s.x*s.y", {"x": "?", "y": "+"}),
        ("s.x*(s.y - 3)", {"x": "-", "y": "+"}),
        ("s.x*0", {}),
        ("s.x/(1 + s.n)", {"x": "+", "n": "-"}),
        ("-1/(1 + s.n)", {"n": "+"}),
        ("1/(s.y - 3)", {"y": "-"}),
        ("s.x - s.x", {"x": "?"}),
        ("abs(s.y)", {"y": "?"}),
        ("abs(s.y - 3)", {"y": "-"}),
        ("min(s.x, 5)", {"x": "+"}),
        ("min(s.x, s.y + 9)", {"x": "+"}),
        ("max(s.x, s.y)", {"x": "+", "y": "+"}),
        ("clip(s.y, 0, 1)", {"y": "+"}),
        ("budget(s.n, 4)", {"n": "+"}),
        ("s.x > 0.5", {"x": "+"}),
        ("s.x < 0.5", {"x": "-"}),
        ("0.2 < s.x < 0.5", {"x": "?"}),
        ("s.x == 0.5", {"x": "?"}),
        ("s.x > 2", {}),
        ("not s.b", {"b": "-"}),
        ("s.b and s.x > 0.5", {"b": "+", "x": "+"}),
        ("s.b or not s.x > 0.5", {"b": "+", "x": "-"}),
        ("1 if s.b else 0", {"b": "+"}),
        ("0 if s.b else 1", {"b": "-"}),
        ("s.x if s.b else 0", {"b": "+", "x": "+"}),
        ("s.y if s.b else 0", {"b": "?", "y": "+"}),
        ("1 if s.b else 1", {}),
        ("exp(s.x)", {"x": "+"}),
        ("sqrt(s.x) - s.n", {"x": "+", "n": "-"}),
    ],
)
def test_directions_follow_the_sign_algebra(text: str, expected: dict[str, str]) -> None:
    assert expected == signs(text)


@pytest.mark.parametrize(
    ("text", "if_true", "if_false"),
    [
        ("s.n > 3", {"n": (4, 9)}, {"n": (0, 3)}),
        ("s.n >= 3", {"n": (3, 9)}, {"n": (0, 2)}),
        ("s.n < 3", {"n": (0, 2)}, {"n": (3, 9)}),
        ("s.n <= 3", {"n": (0, 3)}, {"n": (4, 9)}),
        ("3 < s.n", {"n": (4, 9)}, {"n": (0, 3)}),
        ("s.n == 3", {"n": (3, 3)}, {"n": (0, 9)}),
        ("s.n != 0", {"n": (1, 9)}, {"n": (0, 0)}),
        ("2 < s.n <= 5", {"n": (3, 5)}, {}),
        ("s.x >= 0.5", {"x": (0.5, 1)}, {"x": (0, 0.49999999999999994)}),
        ("s.x > 0.5", {"x": (0.5000000000000001, 1)}, {"x": (0, 0.5)}),
        ("s.x > k", None, {"x": (0, 1)}),
        ("s.b", {"b": (1, 1)}, {"b": (0, 0)}),
        ("not s.b", {"b": (0, 0)}, {"b": (1, 1)}),
        ("s.b and s.n > 3", {"b": (1, 1), "n": (4, 9)}, {}),
        ("s.b or s.n > 3", {}, {"b": (0, 0), "n": (0, 3)}),
        ("s.n < 2 or s.n > 7", {"n": (0, 9)}, {"n": (2, 7)}),
        ("s.n < 2 or s.n < 5", {"n": (0, 4)}, {"n": (5, 9)}),
        ("not (s.b and s.n > 3)", {}, {"b": (1, 1), "n": (4, 9)}),
        ("s.n > 3 and s.n < 3", None, {"n": (0, 9)}),
        ("s.x + s.y > 1", {}, {}),
        ("s.m > 0", {"m": (1, float("inf"))}, {"m": (0, 0)}),
    ],
)
def test_a_condition_narrows_what_it_names(
    text: str, if_true: dict[str, tuple[float, float]] | None, if_false: dict[str, tuple[float, float]] | None
) -> None:
    assert if_true == known(text)
    assert if_false == known(text, holds=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2*s.x - 1", Interval(-1, 1)),
        ("s.x*s.y", Interval(-1, 2)),
        ("s.x/s.n if s.n > 0 else 0", Interval(0, 1)),
        ("1/s.n if s.n > 3 else 1", Interval(1 / 9, 1)),
        ("s.n if s.n < 4 else 4", Interval(0, 4)),
        ("min(s.m, 5)/5", Interval(0, 1)),
        ("budget(s.m, 5)", Interval(0, 1)),
        ("clip(s.y, 0, 1)", Interval(0, 1)),
        ("s.b + s.b", Interval(0, 2)),
        ("s.y if s.y > 0 else -s.y", Interval(0, 2)),
        ("1.0 if s.n > 20 else 0.5", Interval(0.5, 0.5)),
        ("k*s.x", Interval(0, 2)),
        ("s.x > 0.2 and s.x < 0.1", Interval(0, 0)),
    ],
)
def test_ranges_use_what_conditions_say(text: str, expected: Interval) -> None:
    node, _ = parse_expression(text)
    assert node is not None
    interval = infer(node, SCOPE, BUILTIN).interval
    assert (expected.lo, expected.hi) == pytest.approx((interval.lo, interval.hi), abs=1e-300)
