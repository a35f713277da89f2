"""`half_life(x, at)`: 0.5 ** (x / at)."""

from typing import Any

import assay


def _column(x: Any, at: Any) -> Any:
    """The same over numpy columns."""
    return 0.5 ** (x / at)


# `at` of 0 would divide by nothing: the least is stated, and an expression that may go below it does not compile.
@assay.function("half_life", version=1, direction=["down", "up"], domain=[0.0, 1e-6], column=_column)
def half_life(x: float, at: float) -> float:
    """Halve the value with every `at` of `x`; both are pure numbers, `x` at least 0."""
    return 0.5 ** (x / at)
