"""Interval arithmetic at its corners."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.dsl.expr import interval as iv
from assay.dsl.expr.interval import INF, Interval

_ends = st.one_of(st.floats(-1e12, 1e12), st.sampled_from([-INF, INF, 0.0, 5e-324, -5e-324, 1e308, -1e308]))


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    lo, hi = sorted([draw(_ends), draw(_ends)])
    return Interval(-1e308 if lo == INF else lo, 1e308 if hi == -INF else hi)


@st.composite
def members(draw: st.DrawFn) -> tuple[Interval, float]:
    interval = draw(intervals())
    lo, hi = max(interval.lo, -1.7e308), min(interval.hi, 1.7e308)
    return interval, draw(st.one_of(st.just(lo), st.just(hi), st.floats(lo, hi)))


@given(members(), members())
def test_sums_differences_and_products_lie_inside(a: tuple[Interval, float], b: tuple[Interval, float]) -> None:
    for operation, value in (
        (iv.add, a[1] + b[1]),
        (iv.subtract, a[1] - b[1]),
        (iv.multiply, a[1] * b[1]),
        (iv.minimum, min(a[1], b[1])),
        (iv.maximum, max(a[1], b[1])),
    ):
        result = operation(a[0], b[0])
        assert math.isnan(value) or result.lo <= value <= result.hi


@given(members(), members())
def test_quotients_lie_inside_where_the_divisor_is_not_zero(
    a: tuple[Interval, float], b: tuple[Interval, float]
) -> None:
    if b[1] == 0.0:
        return
    result = iv.divide(a[0], Interval(b[0].lo, b[0].hi, is_nonzero=True))
    value = a[1] / b[1]
    assert math.isnan(value) or result.lo <= value <= result.hi


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (Interval(0, INF), Interval(0, 0), Interval(0, 0)),
        (Interval(-1, 2), Interval(-3, 4), Interval(-6, 8)),
        (Interval(-INF, INF), Interval(0, 1), Interval(-INF, INF)),
        (Interval(1e308, 1e308), Interval(10, 10), Interval(INF, INF)),
    ],
)
def test_products_at_corners(a: Interval, b: Interval, expected: Interval) -> None:
    assert expected == iv.multiply(a, b)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (Interval(0, 1), Interval(0.2, 1), Interval(0, 5)),
        (Interval(1, INF), Interval(2, INF), Interval(0, INF)),
        (Interval(1, 1), Interval(1, INF, is_int=True), Interval(0, 1)),
        (Interval(1, 1), Interval(-2, 2, is_int=True, is_nonzero=True), Interval(-1, 1)),
        (Interval(1, 1), Interval(0, 4, is_int=True, is_nonzero=True), Interval(0.25, 1)),
    ],
)
def test_quotients_at_corners(a: Interval, b: Interval, expected: Interval) -> None:
    result = iv.divide(a, b)
    assert (expected.lo, expected.hi) == (result.lo, result.hi)


def test_strict_bounds_of_whole_numbers_step_by_one() -> None:
    assert 1.0 == iv.above(0.0, strict=True, is_int=True).lo
    assert 1.0 == iv.above(0.5, strict=True, is_int=True).lo
    assert 2.0 == iv.below(2.5, strict=False, is_int=True).hi
    assert 1.0 == iv.below(2.0, strict=True, is_int=True).hi


def test_strict_bounds_of_floats_step_to_the_next_one() -> None:
    assert 5e-324 == iv.above(0.0, strict=True, is_int=False).lo


def test_text_shows_open_infinite_ends() -> None:
    assert "[0, inf)" == str(Interval(0, INF))
    assert "(-inf, 1.5]" == str(Interval(-INF, 1.5))
