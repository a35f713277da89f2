"""Verifiers: exact, quick, and deaf to everything but the answer's text.

None of them evaluates, parses as code, or hands the answer to reasoning-gym, whose own scorers pay for near misses.
"""

import re
from fractions import Fraction
from typing import Annotated

import assay
from assay_domain_reasoning_gym.answer import normalise

_NUMBER = re.compile(r"([+-]?[0-9]{1,60})(?:\.([0-9]{1,60})|/([0-9]{1,60}))?", re.ASCII)


class Match(assay.Signals, frozen=True):
    """Whether the answer is right."""

    equal: Annotated[bool, assay.signal(better="up", doc="the answer is the expected one")]


class NumberMatch(assay.Signals, frozen=True):
    """Whether the answer is the right number."""

    equal: Annotated[bool, assay.signal(better="up", doc="the answer equals the expected number exactly")]
    is_number: Annotated[bool, assay.signal(better="up", doc="the answer is one number and nothing else")]


@assay.verifier("reasoning_gym.exact", version=1, cost="0.02ms", timeout="2s")
def exact(answer: str | None, expected: str) -> Match:
    """Compare as texts; runs of ASCII blanks count as one, blanks around the text as none."""
    return Match(equal=normalise(answer) == normalise(expected))


@assay.verifier("reasoning_gym.number", version=1, cost="0.02ms", timeout="2s")
def number(answer: str | None, expected: str) -> NumberMatch:
    """Compare as exact rationals: `7`, `+7`, `7.0` and `14/2` are equal, `7 apples` is no number."""
    value = _read_number(normalise(answer))
    return NumberMatch(equal=value is not None and value == _read_number(expected), is_number=value is not None)


@assay.verifier("reasoning_gym.palindrome", version=1, cost="0.02ms", timeout="2s")
def palindrome(answer: str | None, letters: str) -> Match:
    """Accept every arrangement of exactly the given letters that reads the same both ways."""
    given = sorted(letters.split())
    text = normalise(answer)
    return Match(equal=len(text) == len(given) and text == text[::-1] and sorted(text) == given)


def _read_number(text: str) -> Fraction | None:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    whole, decimals, bottom = match.groups()
    if bottom is not None:
        return Fraction(int(whole), int(bottom)) if int(bottom) else None
    return Fraction(f"{whole}.{decimals}") if decimals is not None else Fraction(int(whole))
