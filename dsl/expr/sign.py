"""Signs: whether a value rises or falls when one signal does, all else equal.

The algebra is {0, +, -, ?}; 0 is left out of the maps. `?` claims nothing.
"""

from assay.dsl.expr.interval import Interval

Signs = dict[str, str]  # signal -> `+`, `-` or `?`

_FLIP = {"+": "-", "-": "+", "?": "?"}


def join(*parts: Signs) -> Signs:
    """Return the signs of a sum, or of anything that rises with each part."""
    joined: Signs = {}
    for part in parts:
        for name, sign in part.items():
            joined[name] = sign if joined.get(name, sign) == sign else "?"
    return joined


def flip(signs: Signs) -> Signs:
    """Return the signs of the negated value."""
    return {name: _FLIP[sign] for name, sign in signs.items()}


def scale(signs: Signs, by: Interval) -> Signs:
    """Return the signs of the value times something in `by`."""
    match by.sign:
        case "0":
            return {}
        case "+":
            return signs
        case "-":
            return flip(signs)
    return unknown(signs)


def unknown(*parts: Signs) -> Signs:
    """Return `?` for everything the parts depend on."""
    return {name: "?" for part in parts for name in part}


def product(a: Signs, a_range: Interval, b: Signs, b_range: Interval) -> Signs:
    """Return the signs of a * b."""
    return join(scale(a, b_range), scale(b, a_range))


def quotient(a: Signs, a_range: Interval, b: Signs, b_range: Interval) -> Signs:
    """Return the signs of a / b, where b keeps its sign."""
    if b_range.sign == "?":
        return unknown(a, b)
    return join(scale(a, b_range), scale(flip(b), a_range))


def choice(condition: Signs, then: Signs, then_range: Interval, otherwise: Signs, otherwise_range: Interval) -> Signs:
    """Return the signs of `then if condition else otherwise`."""
    if then_range.is_point and then_range.lo == otherwise_range.lo and otherwise_range.is_point:
        return {}
    if then_range.lo >= otherwise_range.hi:
        switch = condition
    elif then_range.hi <= otherwise_range.lo:
        switch = flip(condition)
    else:
        switch = unknown(condition)
    return join(then, otherwise, switch)
