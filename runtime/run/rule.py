"""Rules of a curriculum as the coordinator asks them: `until`, `unlock` and `admit`.

A part that names something nobody has measured yet (a pass rate before the first group) is not fulfilled.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.error import AssayError, ConfigError, PluginError
from assay.core.registry import owner_of, resolve
from assay.core.stage_rule import StageRule, StageView
from assay.dsl.condition import replace_calls, rule_calls
from assay.dsl.expr.node import Call, Compare, Expr, Logic, Num, Ref, Signal, walk
from assay.dsl.expr.scalar import scalar_function
from assay.dsl.expr.show import show
from assay.dsl.leaf import spelled_arguments


class Rule:
    """A condition over `step` and the entries' means; see `assay.core.stage_rule.Condition`.

    Args:
        node: Compiled, such as `math.pass_rate > 0.5 or step >= 200`.
    """

    def __init__(self, node: Expr) -> None:
        self._holds = _condition(node)

    def holds(self, view: StageView) -> bool:
        """Whether the condition holds; a part that names something unknown does not."""
        return self._holds(view, {})


class Until:
    """What ends a stage: a condition in which calls of stage rules may stand; itself a stage rule.

    Every rule is asked at every step, whatever stands beside it. What the rules remember goes through JSON each time,
    so that a run that was killed goes on with the very values that it would have had.

    Args:
        node: Compiled, such as `plateau(math.pass_rate) or step >= 500`.
        refs: `dist:version:module:attribute` of each stage rule that it calls, by name.

    Raises:
        PluginError: a rule cannot be loaded, or refuses its arguments.
    """

    def __init__(self, node: Expr, refs: Mapping[str, str]) -> None:
        calls = {show(call): call for call in rule_calls(node)}
        self._owners = {text: f"{owner_of(refs[call.function])}, {text}" for text, call in calls.items()}
        self._rules = {text: self._make(text, call, refs[call.function]) for text, call in calls.items()}
        self._holds = _condition(replace_calls(node, lambda call: Ref(name=show(call))))

    def look(self, view: StageView, memory: Any) -> tuple[bool, Any]:
        """See `assay.core.stage_rule.StageRule`; remembers what each call does, by its text."""
        said: dict[str, bool] = {}
        remembered: dict[str, Any] = {}
        for text, rule in self._rules.items():
            try:
                has_ended, after = rule.look(view, None if memory is None else memory.get(text))
                if not isinstance(has_ended, bool):
                    raise TypeError(f"{has_ended!r} is no bool")
                said[text] = has_ended
                remembered[text] = msgspec.json.decode(msgspec.json.encode(after))
            except AssayError:
                raise
            except Exception as error:
                must = "a stage rule must return a bool and what JSON can say, and not raise"
                raise PluginError(must, got=repr(error), at=self._owners[text]) from error
        return self._holds(view, said), remembered or None

    def _make(self, text: str, call: Call, ref: str) -> StageRule:
        positional, named = spelled_arguments(call)
        try:
            rule: StageRule = resolve(ref)(*positional, **named)
        except AssayError:
            raise
        except Exception as error:
            raise PluginError("a stage rule must take its arguments", got=repr(error), at=self._owners[text]) from error
        return rule


def _condition(node: Expr) -> Callable[[StageView, Mapping[str, bool]], bool]:
    if isinstance(node, Logic):
        parts = [_condition(item) for item in node.items]
        join = all if node.sign == "and" else any
        return lambda view, said: join(part(view, said) for part in parts)
    if isinstance(node, Ref) and node.name != "step":
        return lambda view, said: said[node.name]
    value = scalar_function(node)

    def holds(view: StageView, said: Mapping[str, bool]) -> bool:
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
