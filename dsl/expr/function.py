"""Functions of the language, each with its arity, unit rule, range and direction.

Every analysis and both back ends ask this table; a function that a plugin adds becomes an entry of the same shape.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from assay.core.kind import Kind
from assay.core.leaf import Function
from assay.dsl.expr import interval as iv
from assay.dsl.expr import sign as sg
from assay.dsl.expr.interval import Interval
from assay.dsl.expr.sign import Signs

NUMBER, BOOLS, NUMBERS, SIZED = "number", "list[bool]", "list of numbers", "list or text"

Ranged = tuple[Interval, Signs]


class Entry(msgspec.Struct, frozen=True):
    """One function.

    Attributes:
        parameters: Names in order.
        takes: What each must be.
        required: How many must be given; more than `parameters` where it is variadic.
        is_variadic: The last parameter may repeat.
        unit: `keep`, `none`, or `ratio` (arguments agree, the value is pure).
        gives: Kind of the value; None: int where all arguments are, else float.
        fact: From (interval, signs) of each argument to those of the value.
        refuses: From the argument intervals to what is wrong with them (RX005), or None.
        scalar: The value of plain numbers.
        column: The values of numpy columns; None: `scalar` row by row.
        python: Text of an inline Python expression with {0}, {1} ...; empty: `scalar` is called.
    """

    name: str
    parameters: tuple[str, ...]
    takes: tuple[str, ...]
    fact: Callable[[Sequence[Ranged]], Ranged]
    scalar: Callable[..., Any]
    required: int = 1
    is_variadic: bool = False
    unit: str = "keep"
    gives: Kind | None = None
    refuses: Callable[[Sequence[Interval]], str | None] | None = None
    column: Callable[..., Any] | None = None
    python: str = ""


def plugin_entry(function: Function) -> Entry:
    """Return the entry of a function that a plugin declares."""
    names = tuple(parameter.name for parameter in function.parameters)

    def fact(args: Sequence[Ranged]) -> Ranged:
        ranges = [ranged for ranged, _ in args]
        signs = []
        for (_, own), direction in zip(args, function.direction, strict=True):
            signs.append({"up": own, "down": sg.flip(own), "neither": sg.unknown(own)}[direction])
        if function.range is not None:
            return _declared_range(function, ranges), sg.join(*signs)
        pairs = [(r.lo, r.hi) if d == "up" else (r.hi, r.lo) for r, d in zip(ranges, function.direction, strict=True)]
        lo = _limit(function.function, [pair[0] for pair in pairs], -math.inf)
        hi = _limit(function.function, [pair[1] for pair in pairs], math.inf)
        return iv.outward(lo, hi), sg.join(*signs)

    def refuses(ranges: Sequence[Interval]) -> str | None:
        for name, least, ranged in zip(names, function.domain, ranges, strict=True):
            if least is not None and ranged.lo < least:
                return f"`{function.name}` needs `{name}` >= {least:g}, got {ranged}"
        return None

    return Entry(
        name=function.name,
        parameters=names,
        takes=(NUMBER,) * len(names),
        required=len(names),
        unit=function.unit,
        gives=Kind("float"),
        fact=fact,
        refuses=refuses,
        scalar=function.function,
        column=function.column,
    )


def bind(entry: Entry, num_args: int, keywords: Sequence[str]) -> list[int] | str:
    """Return the position of each argument (positional first, then keywords), or what is wrong."""
    limit = None if entry.is_variadic else len(entry.parameters)
    if limit is not None and num_args > limit:
        return f"`{entry.name}` takes at most {limit} argument{'s' * (limit != 1)}, got {num_args}"
    places = list(range(num_args))
    for keyword in keywords:
        if entry.is_variadic or keyword not in entry.parameters:
            return f"`{entry.name}` has no parameter `{keyword}`"
        place = entry.parameters.index(keyword)
        if place in places:
            return f"`{entry.name}` got `{keyword}` twice"
        places.append(place)
    missing = [name for place, name in enumerate(entry.parameters[: entry.required]) if place not in places]
    if entry.is_variadic and num_args < entry.required:
        return f"`{entry.name}` takes at least {entry.required} arguments, got {num_args}"
    if missing and not entry.is_variadic:
        return f"`{entry.name}` needs `{'`, `'.join(missing)}`"
    return places


def mean(values: Sequence[float], default: float | None = None) -> float:
    """Return the mean, never outside the values' own range.

    Raises:
        ZeroDivisionError: no values and no default.
    """
    if not values:
        if default is None:
            raise ZeroDivisionError("mean of an empty list without a default")
        return float(default)
    return min(max(math.fsum(values) / len(values), min(values)), max(values)) + 0.0


# What a function of a plugin may raise at the ends of its arguments, which may be infinite: nothing is then known.
_UNKNOWN = (ArithmeticError, ValueError, TypeError, LookupError)


def _declared_range(function: Function, ranges: Sequence[Interval]) -> Interval:
    assert function.range is not None
    try:
        lo, hi = (float(end) for end in function.range(*((r.lo, r.hi) for r in ranges)))
    except _UNKNOWN:
        return iv.ANY
    return Interval(lo, hi) if lo <= hi else iv.ANY


def _limit(function: Callable[..., float], args: Sequence[float], if_none: float) -> float:
    try:
        value = float(function(*args))
    except _UNKNOWN:
        return if_none
    return if_none if math.isnan(value) else value


def _min(args: Sequence[Ranged]) -> Ranged:
    result = args[0]
    for other in args[1:]:
        a, b = result[0], other[0]
        signs = result[1] if a.hi <= b.lo else other[1] if b.hi <= a.lo else sg.join(result[1], other[1])
        result = (iv.minimum(a, b), signs)
    return result


def _max(args: Sequence[Ranged]) -> Ranged:
    low, signs = _min([_negated(arg) for arg in args])
    return iv.negate(low), sg.flip(signs)


def _negated(arg: Ranged) -> Ranged:
    return iv.negate(arg[0]), sg.flip(arg[1])


def _abs(args: Sequence[Ranged]) -> Ranged:
    (ranged, signs), *_ = args
    return iv.absolute(ranged), sg.scale(signs, ranged)


def _clip(args: Sequence[Ranged]) -> Ranged:
    x, lo, hi = args
    return _min([_max([x, lo]), hi])


def _budget(args: Sequence[Ranged]) -> Ranged:
    x, cap = args
    top = _min([x, cap])
    ranged = iv.divide(top[0], cap[0])
    if cap[0].lo > 0.0:
        ranged = Interval(ranged.lo, min(ranged.hi, 1.0))
    return ranged, sg.join(sg.scale(x[1], cap[0]), sg.unknown(cap[1]))


def _exp(args: Sequence[Ranged]) -> Ranged:
    (ranged, signs), *_ = args
    wide = iv.outward(_limit(math.exp, [ranged.lo], math.inf), _limit(math.exp, [ranged.hi], math.inf))
    return Interval(max(wide.lo, 0.0), wide.hi), signs


def _log1p(args: Sequence[Ranged]) -> Ranged:
    (ranged, signs), *_ = args
    return iv.outward(_limit(math.log1p, [ranged.lo], -math.inf), _limit(math.log1p, [ranged.hi], math.inf)), signs


def _sqrt(args: Sequence[Ranged]) -> Ranged:
    (ranged, signs), *_ = args
    return Interval(_limit(math.sqrt, [ranged.lo], 0.0), _limit(math.sqrt, [ranged.hi], math.inf)), signs


def _size(args: Sequence[Ranged]) -> Ranged:
    return Interval(0.0, math.inf, is_int=True), sg.unknown(args[0][1])


def _count(args: Sequence[Ranged]) -> Ranged:
    return Interval(0.0, math.inf, is_int=True), args[0][1]


def _any(args: Sequence[Ranged]) -> Ranged:
    return iv.BOOL, args[0][1]


def _mean(args: Sequence[Ranged]) -> Ranged:
    ranged = iv.hull(*(arg[0] for arg in args))
    return Interval(ranged.lo, ranged.hi), sg.join(*(arg[1] for arg in args))


def _spread(args: Sequence[Ranged]) -> Ranged:
    ranged = args[0][0]
    return Interval(0.0, ranged.hi - ranged.lo, ranged.is_int), sg.unknown(args[0][1])


def spread(values: Sequence[float]) -> float:
    """Return the distance between the largest and the smallest value; 0 of none."""
    return max(values) - min(values) if values else 0.0


def _column_min(*args: Any) -> Any:
    import numpy

    result = args[0]
    for other in args[1:]:
        result = numpy.minimum(result, other)
    return result


def _column_max(*args: Any) -> Any:
    import numpy

    result = args[0]
    for other in args[1:]:
        result = numpy.maximum(result, other)
    return result


def _column_sqrt(x: Any) -> Any:
    import numpy

    return numpy.sqrt(x)


def _column_abs(x: Any) -> Any:
    import numpy

    return numpy.abs(x)


def _exp_value(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


_TABLE = (
    Entry("min", ("x",), (NUMBER,), _min, min, 2, True, column=_column_min),
    Entry("max", ("x",), (NUMBER,), _max, max, 2, True, column=_column_max),
    Entry("abs", ("x",), (NUMBER,), _abs, abs, column=_column_abs),
    Entry(
        "clip",
        ("x", "lo", "hi"),
        (NUMBER, NUMBER, NUMBER),
        _clip,
        lambda x, lo, hi: min(max(x, lo), hi),
        3,
        column=lambda x, lo, hi: _column_min(_column_max(x, lo), hi),
    ),
    Entry(
        "budget",
        ("x", "cap"),
        (NUMBER, NUMBER),
        _budget,
        lambda x, cap: min(x, cap) / cap,
        2,
        unit="ratio",
        gives=Kind("float"),
        refuses=lambda r: "`budget` divides by its cap, which can be 0" if r[1].has_zero else None,
        column=lambda x, cap: _column_min(x, cap) / cap,
    ),
    Entry("exp", ("x",), (NUMBER,), _exp, _exp_value, unit="none", gives=Kind("float")),
    Entry(
        "log1p",
        ("x",),
        (NUMBER,),
        _log1p,
        math.log1p,
        unit="none",
        gives=Kind("float"),
        refuses=lambda r: f"`log1p` needs a value above -1, got {r[0]}" if r[0].lo <= -1.0 else None,
    ),
    Entry(
        "sqrt",
        ("x",),
        (NUMBER,),
        _sqrt,
        math.sqrt,
        unit="none",
        gives=Kind("float"),
        refuses=lambda r: f"`sqrt` needs a value of at least 0, got {r[0]}" if r[0].lo < 0.0 else None,
        column=_column_sqrt,
    ),
    Entry("len", ("xs",), (SIZED,), _size, len, unit="none", gives=Kind("int")),
    Entry("count", ("xs",), (BOOLS,), _count, sum, unit="none", gives=Kind("int")),
    Entry("any", ("xs",), (BOOLS,), _any, any, unit="none", gives=Kind("bool")),
    Entry("all", ("xs",), (BOOLS,), _any, all, unit="none", gives=Kind("bool")),
    Entry("spread", ("xs",), (NUMBERS,), _spread, spread),
    Entry("mean", ("xs", "default"), (NUMBERS, NUMBER), _mean, mean, gives=Kind("float")),
)
BUILTIN = {entry.name: entry for entry in _TABLE}
