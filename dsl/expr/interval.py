"""Intervals: what values an expression can take.

Ends come from the same float64 operations as the value itself, and rounding is monotone, so the value of a well-typed
expression always lies between them. An end is infinite where there is none; a value never is. `0 * inf` at an end is 0,
because the infinite end is never reached.
"""

import math

import msgspec

INF = math.inf


class Interval(msgspec.Struct, frozen=True):
    """A closed range of float64.

    Attributes:
        lo: Lower end.
        hi: Upper end, at least `lo`.
        is_int: Only whole numbers occur.
        is_nonzero: 0 does not occur, although it lies between the ends.
    """

    lo: float
    hi: float
    is_int: bool = False
    is_nonzero: bool = False

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Both ends; None for an infinite one."""
        lo, hi = (end if math.isfinite(end) else None for end in (self.lo, self.hi))
        return lo, hi

    @property
    def is_point(self) -> bool:
        """Whether there is only one value."""
        return self.lo == self.hi

    @property
    def is_finite(self) -> bool:
        """Whether both ends are numbers."""
        return math.isfinite(self.lo) and math.isfinite(self.hi)

    @property
    def has_zero(self) -> bool:
        """Whether 0 can occur."""
        return self.lo <= 0.0 <= self.hi and not self.is_nonzero

    @property
    def sign(self) -> str:
        """`0`, `+` (never below 0), `-` (never above 0) or `?`."""
        if self.lo == 0.0 == self.hi:
            return "0"
        return "+" if self.lo >= 0.0 else "-" if self.hi <= 0.0 else "?"

    def __str__(self) -> str:
        lo = "(-inf" if self.lo == -INF else f"[{format_number(self.lo)}"
        hi = "inf)" if self.hi == INF else f"{format_number(self.hi)}]"
        return f"{lo}, {hi}"


BOOL = Interval(0.0, 1.0, is_int=True)
ANY = Interval(-INF, INF)
TRUE = Interval(1.0, 1.0, is_int=True)
FALSE = Interval(0.0, 0.0, is_int=True)


def point(value: float, *, is_int: bool = False) -> Interval:
    """Return the interval of one value."""
    return Interval(value, value, is_int)


def hull(*parts: Interval) -> Interval:
    """Return the smallest interval around all parts."""
    return Interval(
        min(part.lo for part in parts),
        max(part.hi for part in parts),
        all(part.is_int for part in parts),
        all(not part.has_zero for part in parts),
    )


def meet(a: Interval, b: Interval) -> Interval | None:
    """Return what both share; None where nothing."""
    lo, hi = max(a.lo, b.lo), min(a.hi, b.hi)
    if lo > hi:
        return None
    return Interval(lo, hi, a.is_int or b.is_int, a.is_nonzero or b.is_nonzero)


def negate(a: Interval) -> Interval:
    """-a."""
    return Interval(-a.hi, -a.lo, a.is_int, a.is_nonzero)


def add(a: Interval, b: Interval) -> Interval:
    """a + b."""
    return _make(_sum(a.lo, b.lo, -INF), _sum(a.hi, b.hi, INF), a.is_int and b.is_int)


def subtract(a: Interval, b: Interval) -> Interval:
    """a - b."""
    return add(a, negate(b))


def multiply(a: Interval, b: Interval) -> Interval:
    """a * b."""
    ends = [_times(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    product = _make(min(ends), max(ends), a.is_int and b.is_int)
    # Whole numbers cannot underflow to 0; floats can.
    is_nonzero = product.is_int and not a.has_zero and not b.has_zero
    return Interval(product.lo, product.hi, product.is_int, is_nonzero)


def divide(a: Interval, b: Interval) -> Interval:
    """a / b; `b` must not hold 0."""
    if b.lo < 0.0 < b.hi:
        # The sign of b is open: both sides down to the smallest step away from 0.
        tiny = 1.0 if b.is_int else 5e-324
        return hull(divide(a, Interval(b.lo, -tiny)), divide(a, Interval(tiny, b.hi)))
    lo, hi = b.lo, b.hi
    if lo == 0.0 or hi == 0.0:
        tiny = 1.0 if b.is_int else 5e-324
        lo, hi = (tiny, max(hi, tiny)) if lo == 0.0 else (min(lo, -tiny), -tiny)
    ends = [_over(x, y) for x in (a.lo, a.hi) for y in (lo, hi)]
    return _make(min(ends), max(ends), False)


def minimum(*parts: Interval) -> Interval:
    """min of all."""
    return Interval(min(p.lo for p in parts), min(p.hi for p in parts), all(p.is_int for p in parts))


def maximum(*parts: Interval) -> Interval:
    """max of all."""
    return Interval(max(p.lo for p in parts), max(p.hi for p in parts), all(p.is_int for p in parts))


def absolute(a: Interval) -> Interval:
    """abs(a)."""
    if a.lo >= 0.0:
        return a
    if a.hi <= 0.0:
        return negate(a)
    return Interval(0.0, max(-a.lo, a.hi), a.is_int, a.is_nonzero)


def outward(lo: float, hi: float) -> Interval:
    """Return [lo, hi] widened by one unit in the last place, for functions that are not correctly rounded."""
    return Interval(math.nextafter(lo, -INF), math.nextafter(hi, INF))


def below(end: float, *, strict: bool, is_int: bool) -> Interval:
    """Return all values < end, or <= end."""
    if is_int:
        top = math.ceil(end) - 1 if strict else math.floor(end) if math.isfinite(end) else end
        return Interval(-INF, float(top) if math.isfinite(end) else end, True)
    return Interval(-INF, math.nextafter(end, -INF) if strict else end)


def above(end: float, *, strict: bool, is_int: bool) -> Interval:
    """Return all values > end, or >= end."""
    return negate(below(-end, strict=strict, is_int=is_int))


def compare(sign: str, a: Interval, b: Interval) -> Interval:
    """Return the truth of `a sign b` as TRUE, FALSE or BOOL."""
    match sign:
        case "<":
            return TRUE if a.hi < b.lo else FALSE if a.lo >= b.hi else BOOL
        case "<=":
            return TRUE if a.hi <= b.lo else FALSE if a.lo > b.hi else BOOL
        case ">":
            return compare("<", b, a)
        case ">=":
            return compare("<=", b, a)
        case "==":
            if a.is_point and a == b:
                return TRUE
            return FALSE if meet(a, b) is None or _misses_zero(a, b) else BOOL
    equal = compare("==", a, b)
    return {TRUE: FALSE, FALSE: TRUE}.get(equal, BOOL)


def format_number(value: float) -> str:
    """Return a short text of a number for people."""
    if not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.6g}"


def _misses_zero(a: Interval, b: Interval) -> bool:
    return (a.is_nonzero and b.lo == 0.0 == b.hi) or (b.is_nonzero and a.lo == 0.0 == a.hi)


def _make(lo: float, hi: float, is_int: bool) -> Interval:
    return Interval(lo + 0.0, hi + 0.0, is_int)


def _sum(x: float, y: float, if_nan: float) -> float:
    value = x + y
    return if_nan if math.isnan(value) else value


def _times(x: float, y: float) -> float:
    value = x * y
    return 0.0 if math.isnan(value) else value


def _over(x: float, y: float) -> float:
    value = x / y
    return 0.0 if math.isnan(value) else value
