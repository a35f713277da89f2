"""Rules of a curriculum as the coordinator asks them: `until`, `unlock` and `admit`.

A part that names something nobody has measured yet (a pass rate before the first group) is not fulfilled.
"""

from collections.abc import Callable, Sequence

from assay.core.error import ConfigError
from assay.core.scheduler import StageView
from assay.dsl.expr.node import Compare, Expr, Logic, Num, Ref, Signal, walk
from assay.dsl.expr.scalar import scalar_function


class Rule:
    """A condition over `step` and the entries' means; see `assay.core.scheduler.StageRule`.

    Args:
        node: Compiled, such as `math.pass_rate > 0.5 or step >= 200`.
    """

    def __init__(self, node: Expr) -> None:
        self._holds = _condition(node)

    def is_over(self, view: StageView) -> bool:
        """Whether the condition holds; a part that names something unknown does not."""
        return self._holds(view)


def _condition(node: Expr) -> Callable[[StageView], bool]:
    if isinstance(node, Logic):
        parts = [_condition(item) for item in node.items]
        join = all if node.sign == "and" else any
        return lambda view: join(part(view) for part in parts)
    value = scalar_function(node)

    def holds(view: StageView) -> bool:
        try:
            return bool(value(view.means, {"step": view.step}))
        except (KeyError, ZeroDivisionError):
            return False

    return holds


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
