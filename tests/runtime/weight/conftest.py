"""A small layout and states whose every value tells its version."""

from collections.abc import Callable, Iterator

import pytest

from assay.core.array import Array
from assay.core.trajectory import WeightVersion
from assay.runtime.weight.layout import WeightLayout

SHAPES = {"a": (7,), "b": (3, 5), "empty": (0,), "c": (64, 64)}

State = Iterator[tuple[str, Array]]


def filled(value: float, shapes: dict[str, tuple[int, ...]] = SHAPES) -> State:
    """Yield every tensor, filled with one value."""
    for name, shape in shapes.items():
        count = 1
        for length in shape:
            count *= length
        packed = Array.of([value] * count, "float32")
        yield name, Array("float32", shape, packed.data)


@pytest.fixture
def layout() -> WeightLayout:
    return WeightLayout.of(SHAPES)


@pytest.fixture(scope="session")
def state_of() -> Callable[..., State]:
    """`filled`."""
    return filled


@pytest.fixture(scope="session")
def version_of() -> Callable[[int], WeightVersion]:
    """Version of a step in the first lineage."""
    return lambda step: WeightVersion(0, step)
