"""The end of progress: a signal whose best value has not risen by `min_gain` for `patience` updates.

Values count from the first group anybody measured. A rise that is slower than `min_gain` in `patience` updates is none.
"""

import math
from typing import Any

from assay.core.error import ConfigError
from assay.core.stage_rule import Mean, StageView


class Plateau:
    """See the module.

    Args:
        signal: Such as `math.pass_rate`; the mean over the entry's last groups.
        patience: Updates without a gain after which the stage ends, at least 1.
        min_gain: Least rise over the best value so far that counts as one, at least 0, in the signal's unit.

    Raises:
        ConfigError: a value outside its range.
    """

    def __init__(self, signal: Mean, patience: int = 20, min_gain: float = 0.01) -> None:
        if patience < 1:
            raise ConfigError("plateau must have a patience of at least 1", got=patience)
        if not (math.isfinite(min_gain) and min_gain >= 0.0):
            raise ConfigError("plateau must have a min_gain of at least 0", got=min_gain)
        self.signal = signal
        self.patience = patience
        self.min_gain = min_gain

    def look(self, view: StageView, memory: Any) -> tuple[bool, Any]:
        """See `assay.core.stage_rule.StageRule`; remembers the best value and the step that had it."""
        value = self.signal.of(view)
        if value is None:
            return False, memory
        if memory is None or (value > memory["best"] and value >= memory["best"] + self.min_gain):
            memory = {"best": value, "step": view.step}
        return view.step - memory["step"] >= self.patience, memory
