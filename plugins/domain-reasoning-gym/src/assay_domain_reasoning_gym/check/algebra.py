"""Answers that are formulas: read by a grammar of their own and computed with exact rationals, never evaluated."""

import re
from collections import Counter
from fractions import Fraction
from typing import Any

import assay
from assay_domain_reasoning_gym.answer import normalise
from assay_domain_reasoning_gym.verifier import Match

MAX_FORMULA = 200
_TOKEN = re.compile(r"(0|[1-9][0-9]{0,5})|([-+*/()])| ", re.ASCII)
_TERM = re.compile(
    r"([+-])(?:([0-9]{1,12})(?:/([0-9]{1,12}))?)?(\*)?(?:([xX])(?:\*\*([0-9]{1,3}))?)?(?:/([0-9]{1,12}))?", re.ASCII
)

Polynomial = dict[int, Fraction]


@assay.verifier("reasoning_gym.target", version=1, cost="0.05ms", timeout="2s")
def target(answer: str | None, question: str) -> Match:
    """Accept every formula of + - * / and brackets that uses each given number once and gives the target."""
    numbers, _, goal = question.partition(": ")
    text = normalise(answer)
    if not 0 < len(text) <= MAX_FORMULA:
        return Match(equal=False)
    try:
        reading = _Reading(text)
        value = reading.whole()
    except (_NoFormula, ZeroDivisionError):
        return Match(equal=False)
    return Match(equal=value == int(goal) and Counter(reading.used) == Counter(map(int, numbers.split(" "))))


@assay.verifier("reasoning_gym.antiderivative", version=1, cost="0.05ms", timeout="2s")
def antiderivative(answer: str | None, question: str) -> Match:
    """Accept every polynomial whose derivative is the given one; a last `+ C` is allowed, and so is any constant."""
    text = normalise(answer)
    if not 0 < len(text) <= MAX_FORMULA:
        return Match(equal=False)
    found = read_polynomial(re.sub(r" ?\+ ?C$", "", text), question)
    wanted = read_polynomial(question, question)
    return Match(equal=found is not None and _derive(found) == wanted)


def read_polynomial(text: str, question: str) -> Polynomial | None:
    """Return the coefficients of a sum such as `-2*X**6/3 + 4*X - 1`; None for any other text.

    Args:
        text: To read.
        question: Says which letter the variable has; a constant names none.
    """
    letters = {letter for letter in question if letter in "xX"}
    if re.search(r"[0-9xX] [0-9xX]|\* \*", text):
        return None
    text = text.replace(" ", "")
    text = text if text.startswith(("+", "-")) else "+" + text
    found: Polynomial = {}
    at = 0
    while at < len(text):
        match = _TERM.match(text, at)
        if match is None or match.end() == at + 1:
            return None
        sign, number, bottom, star, letter, exponent, divisor = match.groups()
        if (star is not None) != (number is not None and letter is not None) or (letter and letter not in letters):
            return None
        if "0" in (bottom, divisor) or (bottom is not None and int(bottom) == 0) or (divisor and int(divisor) == 0):
            return None
        value = Fraction(int(number or 1), int(bottom or 1) * int(divisor or 1))
        power = 0 if letter is None else int(exponent or 1)
        found[power] = found.get(power, Fraction(0)) + (value if sign == "+" else -value)
        at = match.end()
    return {power: value for power, value in found.items() if value}


def _derive(polynomial: Polynomial) -> Polynomial:
    return {power - 1: power * value for power, value in polynomial.items() if power}


class _NoFormula(Exception):
    """The text is not in the grammar."""


class _Reading:
    """sum = product (+|- product)*, product = factor (*|/ factor)*, factor = number | (sum) | -factor."""

    def __init__(self, text: str) -> None:
        self.used: list[int] = []
        self._tokens: list[str] = []
        self._at = 0
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None or (match[1] and self._tokens and at and text[at - 1].isdigit()):
                raise _NoFormula
            if match[0] != " ":
                self._tokens.append(match[0])
            at = match.end()

    def whole(self) -> Fraction:
        value = self._sum()
        if self._at < len(self._tokens):
            raise _NoFormula
        return value

    def _sum(self) -> Fraction:
        value = self._product()
        while self._next in ("+", "-"):
            sign = self._take()
            other = self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self) -> Fraction:
        value = self._factor()
        while self._next in ("*", "/"):
            sign = self._take()
            other = self._factor()
            value = value * other if sign == "*" else value / other
        return value

    def _factor(self) -> Fraction:
        token = self._take()
        if token == "-":
            return -self._factor()
        if token == "(":
            value = self._sum()
            if self._take() != ")":
                raise _NoFormula
            return value
        if not token.isdigit():
            raise _NoFormula
        self.used.append(int(token))
        return Fraction(int(token))

    @property
    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._next
        self._at += 1
        return token


VERIFIERS: list[Any] = [target, antiderivative]
