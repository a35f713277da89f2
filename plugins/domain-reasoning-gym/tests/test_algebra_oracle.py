"""Right answers of formulas, powers and angles are found again from the question alone, as in `test_oracle`."""

import itertools
import re
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

import pytest

from assay_domain_reasoning_gym.recipe import algebra


def reach(question: str) -> str | None:
    """Combine two at a time, in all ways."""
    numbers, goal = question.split(": ")

    def search(items: list[tuple[Fraction, str]]) -> str | None:
        if len(items) == 1:
            return items[0][1] if items[0][0] == int(goal) else None
        for i, j in itertools.permutations(range(len(items)), 2):
            (a, left), (b, right) = items[i], items[j]
            rest = [item for k, item in enumerate(items) if k not in (i, j)]
            ways = [(a - b, f"({left} - {right})")]
            ways += [(a / b, f"({left} / {right})")] if b else []
            ways += [(a + b, f"({left} + {right})"), (a * b, f"({left} * {right})")] if i < j else []
            for way in ways:
                if found := search([*rest, way]):
                    return found
        return None

    return search([(Fraction(number), number) for number in numbers.split()])


def integrate(question: str) -> str:
    terms = []
    for sign, term in re.findall(r"([+-]?) ?([^ +-]+)", question):
        number, _, power = term.replace("X", "x").partition("x")
        power, _, under = power.partition("/")
        top, _, bottom = number.rstrip("*").partition("/")
        degree = int(power.removeprefix("**") or 1) + 1 if "x" in term.lower() else 1
        value = Fraction(int(top or 1), int(bottom or 1) * int(under or 1) * degree)
        terms.append(f"{sign or '+'} {value.numerator}*x**{degree}/{value.denominator}")
    text = " ".join(terms).removeprefix("+ ")
    return text.replace("x", "X") if "X" in question else text


def power(question: str) -> str:
    base, exponent = question.split(" to the power ")
    context = Context(prec=200, rounding=ROUND_HALF_EVEN)
    value = context.power(Decimal(base), int(exponent))
    mantissa, _, size = f"{context.create_decimal(f'{value:.2e}'):.2e}".partition("e")
    return f"{mantissa}e{int(size)}"


def angle(question: str) -> str:
    angles = list(map(int, question.split()))
    return str((len(angles) + 1) * 180 - 360 - sum(angles))


SOLVERS: dict[str, Callable[[str], str | None]] = {
    "countdown": reach,
    "simple_integration": integrate,
    "power_function": power,
    "simple_geometry": angle,
}

ROWS = {"countdown": 6, "simple_integration": 40}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVERS)
def test_expected_answer_and_a_solvers_answer_earn_the_reward(name: str, check_solver: Any) -> None:
    check_solver(name, SOLVERS[name], ROWS.get(name, 80))


def test_every_recipe_of_these_kinds_has_a_solver() -> None:
    assert [recipe.name for recipe in algebra.RECIPES] == list(SOLVERS)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(9996, 10), "1.00e3"),
        (Fraction(1), "1.00e0"),
        (Fraction(-1, 3), "-3.33e-1"),
        (Fraction(10**40 + 1), "1.00e40"),
        (Fraction(1265, 100), None),
        (Fraction(1, 10**9), "1.00e-9"),
    ],
)
def test_three_figures_are_rounded_once_and_never_from_halfway(value: Fraction, text: str | None) -> None:
    assert text == algebra.to_figures(value)
