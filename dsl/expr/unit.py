"""Units: what a number counts.

A measure is the set of units a value may be read in. A bare number reads in any unit (`BARE`); a signal in its own; a
signal times a bare number in its own or in none, as its context needs.
"""

Unit = tuple[tuple[str, int], ...]  # sorted (name, exponent) pairs, exponents not 0; () is no unit
Measure = frozenset[Unit] | None  # None: a bare number

NONE: Unit = ()
PURE: Measure = frozenset({NONE})
BARE: Measure = None


def of_signal(unit: str | None) -> Measure:
    """Return the measure of a signal."""
    return PURE if unit is None else frozenset({((unit, 1),)})


def unify(a: Measure, b: Measure) -> Measure:
    """Return the measure of values that must share a unit; empty where they cannot."""
    if a is None or b is None:
        return b if a is None else a
    return a & b


def multiply(a: Measure, b: Measure) -> Measure:
    """Return the measure of a * b."""
    if a is None or b is None:
        other = b if a is None else a
        return None if other is None else other | {NONE}
    return _limited(frozenset(_times(x, y, 1) for x in a for y in b))


def divide(a: Measure, b: Measure) -> Measure:
    """Return the measure of a / b."""
    if b is None:
        return multiply(a, b)
    inverse = frozenset(_times(NONE, unit, -1) for unit in b)
    return multiply(a, inverse) if a is not None else inverse | {NONE}


def can_be_pure(a: Measure) -> bool:
    """Whether the value may be read without a unit."""
    return a is None or NONE in a


def show(a: Measure) -> str:
    """Return a measure for people."""
    if a is None:
        return "a bare number"
    if not a:
        return "no common unit"
    return " or ".join(sorted(_show(unit) for unit in a))


def _times(x: Unit, y: Unit, power: int) -> Unit:
    exponents = dict(x)
    for name, exponent in y:
        exponents[name] = exponents.get(name, 0) + power * exponent
    return tuple(sorted((name, exponent) for name, exponent in exponents.items() if exponent))


def _limited(a: frozenset[Unit]) -> frozenset[Unit]:
    # Long products of weighted values would double the set with every factor; the simplest readings are kept.
    return a if len(a) <= 32 else frozenset(sorted(a, key=lambda unit: (len(unit), unit))[:32])


def _show(unit: Unit) -> str:
    if not unit:
        return "no unit"
    above = [name if exponent == 1 else f"{name}^{exponent}" for name, exponent in unit if exponent > 0]
    below = [name if exponent == -1 else f"{name}^{-exponent}" for name, exponent in unit if exponent < 0]
    return "*".join(above or ["1"]) + "".join(f"/{name}" for name in below)
