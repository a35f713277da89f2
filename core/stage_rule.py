"""Stage rules: when a stage of a curriculum has reached its end.

They live inside the coordinator: they see plain values, return plain values, read no clock and do no input or output;
an exception in one ends the run naming its distribution. What a rule remembers is handed in and out, so that it lies
in the ledger and a run that is killed goes on with it.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec


class StageView(msgspec.Struct, frozen=True):
    """What a stage rule may know.

    Attributes:
        step: Updates since the start of the run.
        stage_step: Updates since the start of the stage.
        means: Entry -> signal -> mean over its last groups; what nobody has measured yet is absent.
    """

    step: int
    stage_step: int
    means: Mapping[str, Mapping[str, float]]


class Mean(msgspec.Struct, frozen=True):
    """The mean of one signal of one entry, such as `math.pass_rate`.

    A parameter of a stage rule with this annotation takes such a name; every other one takes a literal.
    """

    entry: str
    name: str

    def of(self, view: StageView) -> float | None:
        """Return its value now; None while nobody has measured it."""
        return view.means.get(self.entry, {}).get(self.name)

    def __str__(self) -> str:
        return f"{self.entry}.{self.name}"


class StageRule(Protocol):
    """Decides whether a stage has reached its end; what `assay_stage_rules` makes from a call in `until:`.

    It is asked after a committed step, once per step at most and in rising order; a step may be left out.
    """

    def look(self, view: StageView, memory: Any) -> tuple[bool, Any]:
        """Return whether the stage ends with this step, and what to remember until the next look.

        Args:
            view: What is known now.
            memory: What the last look of this stage returned, as it comes back from JSON; None at the first.
        """
        ...


class Condition(Protocol):
    """A condition without a memory, such as that of `unlock:`."""

    def holds(self, view: StageView) -> bool:
        """Whether it holds now."""
        ...
