"""Rules of a curriculum as the coordinator asks them: `until`, `unlock` and `admit`.

A rule that names something nobody has measured yet (a pass rate before the first group) is not fulfilled.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence

from assay.core.error import ConfigError
from assay.core.scheduler import StageView
from assay.dsl.expr.node import Binary, Call, Choose, Compare, Expr, Logic, Num, Ref, Signal, Truth, Unary

Name = Ref | Signal
Value = float | bool

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
# Over the rewards of one group.
_STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "spread": lambda rewards: max(rewards) - min(rewards),
    "mean": statistics.fmean,
    "min": min,
    "max": max,
}


class _Unknown(Exception):
    """A name that has no value yet."""


class Rule:
    """A condition over `step` and the entries' means; see `assay.core.scheduler.StageRule`.

    Args:
        node: Compiled, such as `math.pass_rate > 0.5 or step >= 200`.
    """

    def __init__(self, node: Expr) -> None:
        self._node = node

    def is_over(self, view: StageView) -> bool:
        """Whether the condition holds; not while something it names is unknown."""

        def value(node: Name) -> float:
            if isinstance(node, Ref):
                if node.name == "step":
                    return view.step
                raise _Unknown(node.name)
            try:
                return view.means[node.owner][node.name]
            except KeyError:
                raise _Unknown(node.name) from None

        try:
            return bool(evaluate(self._node, value))
        except (_Unknown, ZeroDivisionError):
            return False


class Admit:
    """A condition over the rewards of one group, such as `spread(reward) > 0`."""

    def __init__(self, node: Expr) -> None:
        self._node = node

    def __call__(self, rewards: Sequence[float]) -> bool:
        """Whether the group is worth training."""
        return bool(evaluate(self._node, _refuse, rewards))


def last_step(rule: Expr | None) -> int | None:
    """Return N of a rule `step >= N`, which alone says when a stage ends; None for any other rule and for none."""
    match rule:
        case Compare(signs=(">=" | ">" as sign,), items=(Ref(name="step"), Num() as number)) if number.is_int:
            return int(number.text) + (sign == ">")
    return None


def evaluate(node: Expr, value: Callable[[Name], float], rewards: Sequence[float] = ()) -> Value:
    """Return what an expression gives.

    Args:
        node: Parsed.
        value: Of a name.
        rewards: Of the group that `reward` stands for.

    Raises:
        ConfigError: a construct that no rule may have.
    """

    def of(part: Expr) -> float:
        return evaluate(part, value, rewards)

    match node:
        case Num():
            return node.value
        case Truth():
            return node.value
        case Ref() | Signal():
            return value(node)
        case Unary(sign="not"):
            return not of(node.item)
        case Unary():
            return -of(node.item) if node.sign == "-" else of(node.item)
        case Binary():
            return _ARITHMETIC[node.sign](of(node.left), of(node.right))
        case Compare():
            items = [of(item) for item in node.items]
            return all(_COMPARE[sign](a, b) for sign, a, b in zip(node.signs, items, items[1:], strict=False))
        case Logic(sign="and"):
            return all(of(item) for item in node.items)
        case Logic():
            return any(of(item) for item in node.items)
        case Choose():
            return of(node.then) if of(node.condition) else of(node.otherwise)
        case Call() if node.function in _STATISTICS and node.args == (Ref(name="reward"),):
            return _STATISTICS[node.function](rewards)
    raise ConfigError("a rule must be made of names, numbers, comparisons and logic", got=type(node).__name__.lower())


def _refuse(node: Name) -> float:
    raise ConfigError("`admit` must name nothing but `reward` here", got=getattr(node, "name", ""))
