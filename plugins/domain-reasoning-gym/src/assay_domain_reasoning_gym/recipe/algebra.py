"""Formulas and powers: the answer is a formula with many right spellings, or a number that this package works out."""

from fractions import Fraction

from assay_domain_reasoning_gym.check.algebra import antiderivative, read_polynomial, target
from assay_domain_reasoning_gym.recipe.base import Entry, Recipe, Task, plain


def _countdown(entry: Entry, index: int) -> Task | None:
    """Drop what the generator's own formula does not solve; orders of the numbers are one task."""
    numbers, goal = entry["metadata"]["numbers"], entry["metadata"]["target"]
    question = f"{' '.join(map(str, numbers))}: {goal}"
    key = f"{sorted(numbers)} {goal}"
    return plain(question, entry["answer"], key=key) if target(entry["answer"], question).equal else None


def _simple_integration(entry: Entry, index: int) -> Task | None:
    question = entry["metadata"]["integrand"]
    if not read_polynomial(question, question) or not antiderivative(entry["answer"], question).equal:
        return None
    return plain(question, entry["answer"])


def _power_function(entry: Entry, index: int) -> Task | None:
    """Drop the power 0 and what lies right between two results; the generator's own answer is not rounded."""
    base, exponent = Fraction(str(entry["metadata"]["base"])), int(entry["metadata"]["exponent"])
    if not base or not exponent:
        return None
    expected = to_figures(base**exponent)
    return None if expected is None else plain(f"{entry['metadata']['base']} to the power {exponent}", expected)


def to_figures(value: Fraction) -> str | None:
    """Return a number, not 0, with three significant figures, such as `-1.23e-4`; None for one halfway between two."""
    size = abs(value)
    power = len(str(size.numerator)) - len(str(size.denominator))
    power -= size < Fraction(10) ** power
    scaled = size / Fraction(10) ** (power - 2)
    whole, rest = divmod(scaled, 1)
    if rest == Fraction(1, 2):
        return None
    digits = int(whole) + (rest > Fraction(1, 2))
    if digits == 1000:
        digits, power = 100, power + 1
    return f"{'-' if value < 0 else ''}{digits // 100}.{digits % 100:02}e{power}"


def _simple_geometry(entry: Entry, index: int) -> Task | None:
    """Drop what is no convex polygon: the generator calls some convex whose last angle is not below 180."""
    angles = [int(angle) for angle in entry["metadata"]["known_angles"]]
    last = 180 * (len(angles) - 1) - sum(angles)
    return plain(" ".join(map(str, angles)), last, key=sorted(angles)) if 0 < last < 180 else None


RECIPES = (
    Recipe(
        "countdown",
        "countdown",
        _countdown,
        "A formula of + - * / and brackets that uses each of these numbers once and gives the last, {question}",
        "Reach a number with all of some others.",
        {"max_numbers": 5},
        verify="reasoning_gym.target(question)",
        eval_size=80,
    ),
    Recipe(
        "simple_integration",
        "simple_integration",
        _simple_integration,
        "An antiderivative, written like -2*x**3/3 + x: {question}",
        "Integrate a polynomial.",
        {"max_terms": 3, "max_degree": 5},
        verify="reasoning_gym.antiderivative(question)",
        eval_size=80,
    ),
    Recipe(
        "power_function",
        "power_function",
        _power_function,
        "With three significant figures, like -1.23e-4 or 5.00e0: {question}",
        "Raise a decimal number to a power.",
    ),
    Recipe(
        "simple_geometry",
        "simple_geometry",
        _simple_geometry,
        "Degrees of the last angle of a convex polygon with the others {question}",
        "Find the missing angle of a polygon.",
        verify="reasoning_gym.number(expected)",
    ),
)
