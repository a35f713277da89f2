"""What the rules of a curriculum are shown, and asking them."""

from assay.core.error import AssayError, PluginError
from assay.core.stage_rule import Condition, StageRule, StageView
from assay.runtime.coordinator.state import Run


def view(run: Run) -> StageView:
    """Return the step and the means over the last groups of each entry; an entry without groups has none."""
    means: dict[str, dict[str, float]] = {}
    for name, tally in run.tallies.items():
        keys = {key for group in tally.recent for key in group}
        means[name] = {
            key: sum(values) / len(values)
            for key in sorted(keys)
            if (values := [group[key] for group in tally.recent if key in group])
        }
    step = run.curriculum.trainer_step
    return StageView(step, step - run.curriculum.start_step, means)


def holds(run: Run, condition: Condition) -> bool:
    """Return what a condition says now.

    Raises:
        PluginError: it raised; names its module.
    """
    try:
        return bool(condition.holds(view(run)))
    except AssayError:
        raise
    except Exception as error:
        raise PluginError("a rule must not raise", got=repr(error), at=type(condition).__module__) from error


def is_over(run: Run, rule: StageRule) -> bool:
    """Return whether the present stage ends with the step just committed.

    A trainer that fell back commits steps again; a rule that was asked about a step is not asked about it once more,
    since it remembers having been.

    Raises:
        PluginError: the rule raised; names its module, or its distribution where the rule knows that.
    """
    at = run.curriculum
    if at.trainer_step <= at.asked_step:
        return False
    try:
        has_ended, at.memory = rule.look(view(run), at.memory)
    except AssayError:
        raise
    except Exception as error:
        raise PluginError("a stage rule must not raise", got=repr(error), at=type(rule).__module__) from error
    at.asked_step = at.trainer_step
    return bool(has_ended)
