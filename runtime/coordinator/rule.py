"""What stage rules are shown, and asking them."""

from assay.core.error import AssayError, PluginError
from assay.core.scheduler import StageRule, StageView
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


def ask_rule(run: Run, rule: StageRule) -> bool:
    """Return what a rule says now.

    Raises:
        PluginError: it raised; names its module.
    """
    try:
        return bool(rule.is_over(view(run)))
    except AssayError:
        raise
    except Exception as error:
        raise PluginError("a stage rule must not raise", got=repr(error), at=type(rule).__module__) from error
