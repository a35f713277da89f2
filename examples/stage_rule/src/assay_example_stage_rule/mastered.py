"""`mastered(a.pass_rate, ..., level, updates)`: over when all signals have stayed high."""

from typing import Any

from assay.core.error import ConfigError
from assay.core.stage_rule import Mean, StageView


class Mastered:
    """Ends a stage when every signal has been at least `level` for `updates` updates in a row.

    Args:
        signals: At least one, such as `math.pass_rate`.
        level: In the signals' unit.
        updates: At least 1.

    Raises:
        ConfigError: no signal, or fewer updates than one.
    """

    def __init__(self, *signals: Mean, level: float = 0.9, updates: int = 10) -> None:
        if not signals or updates < 1:
            raise ConfigError("mastered must have a signal and updates of at least 1", got=f"{len(signals)}, {updates}")
        self.signals = signals
        self.level = level
        self.updates = updates

    def look(self, view: StageView, memory: Any) -> tuple[bool, Any]:
        """Remember the step at which the count began; None while a signal is low or unknown."""
        values = [signal.of(view) for signal in self.signals]
        if any(value is None or value < self.level for value in values):
            return False, None
        begun = view.step if memory is None else memory
        return view.step - begun + 1 >= self.updates, begun
