"""`number.equal(expected, rel=0, abs=0)`: the same number, compared exactly as fractions.

A number is written as digits with an optional sign, point, exponent, percent sign, or as a fraction `3/4`; commas group
thousands. A float stands for its shortest decimal text, so that 0.1 equals "0.1".
"""

import re
from fractions import Fraction
from typing import Annotated, Any

from assay.core.leaf import verifier
from assay.core.signal import Signals, signal

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_NUMBER = re.compile(rf"([+-]?)({_DIGITS}(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d{{1,3}}))?\s*(%?)", re.ASCII)
_RATIO = re.compile(rf"([+-]?)({_DIGITS})\s*/\s*({_DIGITS})", re.ASCII)
# Longer texts are no answer to a question about one number; exact arithmetic on them would cost real time.
_MAX_CHARACTERS = 400


class NumberMatch(Signals, frozen=True):
    """What a comparison of numbers says."""

    equal: Annotated[bool, signal(better="up", doc="The answer is the expected number, within the tolerance.")]
    parsed: Annotated[bool, signal(better="up", doc="The answer is a number.")]


@verifier("number.equal", version=1, cost="1ms")
def number_equal(answer: str | None, expected: Any, rel: float = 0.0, abs: float = 0.0) -> NumberMatch:
    """Compare |answer - expected| with max(abs, rel * |expected|), without rounding."""
    target = read_number(str(expected) if not isinstance(expected, bool) else "")
    if target is None:
        raise ValueError(f"expected must be a number, got {expected!r}")
    if not (rel >= 0 and abs >= 0):
        raise ValueError(f"tolerances must be at least 0, got rel={rel} and abs={abs}")
    value = None if answer is None else read_number(answer)
    if value is None:
        return NumberMatch(equal=False, parsed=False)
    allowed = max(Fraction(str(abs)), Fraction(str(rel)) * _magnitude(target))
    return NumberMatch(equal=_magnitude(value - target) <= allowed, parsed=True)


def read_number(text: str) -> Fraction | None:
    """Return the number that the whole text is, exactly; None where it is none."""
    text = text.strip().replace("\u2212", "-")
    if len(text) > _MAX_CHARACTERS:
        return None
    if match := _NUMBER.fullmatch(text):
        sign, digits, exponent, percent = match.groups()
        value = Fraction(digits.replace(",", "").rstrip(".")) * Fraction(10) ** int(exponent or 0)
        value = value / 100 if percent else value
    elif (match := _RATIO.fullmatch(text)) and int(match[3].replace(",", "")):
        sign = match[1]
        value = Fraction(int(match[2].replace(",", "")), int(match[3].replace(",", "")))
    else:
        return None
    return -value if sign == "-" else value


def _magnitude(value: Fraction) -> Fraction:
    return -value if value < 0 else value
