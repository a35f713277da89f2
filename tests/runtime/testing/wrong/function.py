"""Functions that break one clause each, and one that breaks none."""

import itertools
import math
from typing import Any

import assay


def _double(x: Any) -> Any:
    return 2 * x


@assay.function("wrong_none", version=1, direction=["up"], column=_double)
def right(x: float) -> float:
    """Twice x."""
    return 2 * x


@assay.function("budget", version=1, direction=["up"])
def budget(x: float) -> float:
    """Bear a name of the language."""
    return x


@assay.function("wrong_case", version=1, direction=["up"])
def case(x: float) -> float:
    """Thrice x."""
    return 3 * x


@assay.function("wrong_root", version=1, direction=["up"])
def root(x: float) -> float:
    """Have no value below 0, without a word of it."""
    return math.sqrt(x)


@assay.function("wrong_infinite", version=1, direction=["up"])
def infinite(x: float) -> float:
    """Leave the numbers."""
    return math.inf if x > 50 else x


_numbers = itertools.count()


@assay.function("wrong_restless", version=1, direction=["up"])
def restless(x: float) -> float:
    """Change with every call."""
    return x + next(_numbers)


@assay.function("wrong_direction", version=1, direction=["up"])
def square(x: float) -> float:
    """Fall where it says it rises."""
    return x * x


@assay.function("wrong_range", version=1, direction=["neither"], range=lambda x: (-0.5, 0.5))
def wave(x: float) -> float:
    """Leave the declared range."""
    return math.sin(x)


def _half(x: Any) -> Any:
    return x / 2


@assay.function("wrong_column", version=1, direction=["up"], column=_half)
def column(x: float) -> float:
    """Mean something else over columns."""
    return 2 * x
