"""Learning rates inside a stage."""

import math

from hypothesis import given
from hypothesis import strategies as st

from assay.runtime.stage.schedule import learning_rate


def test_rate_rises_linearly_and_falls_to_its_floor() -> None:
    rates = [learning_rate(step, 10, 2.0, warmup=4, decay=0.3, floor=0.05) for step in range(1, 11)]
    assert [0.5, 1.0, 1.5, 2.0, 2.0, 2.0, 2.0] == rates[:7]
    assert math.isclose(2.0 * 0.05, rates[-1])
    assert rates[7] > rates[8] > rates[9]


def test_open_stage_never_falls() -> None:
    assert 1.0 == learning_rate(10**6, 0, 1.0, warmup=5, decay=0.5, floor=0.0)


@given(st.integers(1, 500), st.integers(0, 500), st.integers(0, 100), st.floats(0, 1), st.floats(0, 1))
def test_rate_lies_between_zero_and_its_peak(step: int, steps: int, warmup: int, decay: float, floor: float) -> None:
    rate = learning_rate(step, steps, 3.0, warmup=warmup, decay=decay, floor=floor)
    assert 0.0 <= rate <= 3.0
