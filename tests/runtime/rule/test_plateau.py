"""The end of progress, as `plateau` sees it."""

from collections.abc import Sequence

import pytest

from assay.core.error import ConfigError
from assay.core.stage_rule import Mean, StageView
from assay.runtime.rule.plateau import Plateau

RATE = Mean("math", "pass_rate")


def end(rule: Plateau, values: Sequence[float | None]) -> int | None:
    """Return the step at which a stage ends whose signal has these values, one per step; None where it goes on."""
    memory = None
    for step, value in enumerate(values, 1):
        means = {} if value is None else {"math": {"pass_rate": value}}
        over, memory = rule.look(StageView(step, step, means), memory)
        if over:
            return step
    return None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5] * 9, 4),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], None),
        ([0.1, 0.2, 0.3, 0.2, 0.2, 0.2, 0.9], 6),
        ([None, None, None, None, None, 0.5, 0.5, 0.5, 0.5], 9),
        ([0.5, 0.505, 0.509, 0.512, 0.512, 0.512, 0.512], 7),
    ],
)
def test_a_stage_ends_when_nothing_was_gained_for_its_patience(values: list[float | None], expected: int) -> None:
    assert expected == end(Plateau(RATE, patience=3, min_gain=0.01), values)


def test_a_gain_of_nothing_is_none() -> None:
    assert 4 == end(Plateau(RATE, patience=3, min_gain=0.0), [0.5] * 9)


def test_patience_counts_updates_and_not_looks() -> None:
    rule = Plateau(RATE, patience=3)
    _, memory = rule.look(StageView(1, 1, {"math": {"pass_rate": 0.5}}), None)
    assert rule.look(StageView(4, 4, {"math": {"pass_rate": 0.5}}), memory)[0]


@pytest.mark.parametrize("options", [{"patience": 0}, {"min_gain": -0.1}, {"min_gain": float("nan")}])
def test_a_plateau_that_cannot_be_meant_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Plateau(RATE, **options)  # type: ignore[arg-type]
