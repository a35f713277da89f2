"""Rules of a curriculum as the coordinator asks them: `until`, `unlock` and `admit`.

A rule that names something nobody has measured yet (a pass rate before the first group) is not fulfilled.
"""

from collections.abc import Sequence

from assay.core.error import ConfigError
from assay.core.scheduler import StageView
from assay.dsl.expr.node import Compare, Expr, Num, Ref, Signal, walk
from assay.dsl.expr.scalar import scalar_function


class Rule:
    """A condition over `step` and the entries' means; see `assay.core.scheduler.StageRule`.

    Args:
        node: Compiled, such as `math.pass_rate > 0.5 or step >= 200`.
    """

    def __init__(self, node: Expr) -> None:
        self._holds = scalar_function(node)

    def is_over(self, view: StageView) -> bool:
        """Whether the condition holds; not while something it names is unknown."""
        try:
            return bool(self._holds(view.means, {"step": view.step}))
        except (KeyError, ZeroDivisionError):
            return False


class Admit:
    """A condition over the rewards of one group, such as `spread(reward) > 0`.

    Raises:
        ConfigError: it names anything but `reward`.
    """

    def __init__(self, node: Expr) -> None:
        for part in walk(node):
            if isinstance(part, Signal) or (isinstance(part, Ref) and part.name != "reward"):
                raise ConfigError("`admit` must name nothing but `reward` here", got=part.name)
        self._holds = scalar_function(node)

    def __call__(self, rewards: Sequence[float]) -> bool:
        """Whether the group is worth training."""
        return bool(self._holds({}, {"reward": rewards}))


def last_step(rule: Expr | None) -> int | None:
    """Return N of a rule `step >= N`, which alone says when a stage ends; None for any other rule and for none."""
    match rule:
        case Compare(signs=(">=" | ">" as sign,), items=(Ref(name="step"), Num() as number)) if number.is_int:
            return int(number.text) + (sign == ">")
    return None
