"""What a strategy may see: signals of verifiers that read nothing of a task that its prompt does not show.

A verifier that compares with a reference answer knows it; choosing by it would be an oracle, which nobody can deploy.
What an oracle would reach stands beside every strategy as pass@n, under that name.
"""

from collections.abc import Iterable

from assay.core.error import ConfigError, PluginError
from assay.core.leaf import Verifier
from assay.core.registry import owner_of, resolve
from assay.core.strategy import Strategy
from assay.dsl.expr.node import Ref, walk
from assay.dsl.program import Program
from assay.dsl.template import check_template
from assay.runtime.run.plan import EntryPlan, RunPlan

# Parameters that bring every field of the task.
_WHOLE_TASK = frozenset({"task", "episode"})


def make_strategy(plan: RunPlan) -> Strategy | None:
    """Return the strategy of a run's evaluations; None where every answer counts.

    Raises:
        ConfigError: too few answers to pick from, answers that are all equal, or a signal that cannot be chosen by.
        PluginError: the strategy cannot be loaded, or chooses by what are no names.
    """
    settings = plan.settings["eval"]
    ref = plan.factories.get("strategy")
    check_samples(settings.get("samples", 1), settings["temperature"], has_strategy=ref is not None)
    if ref is None:
        return None
    strategy: Strategy = resolve(ref)(**settings.get("options", {}))
    signals = getattr(strategy, "signals", ())
    if not isinstance(signals, tuple | list) or not all(isinstance(signal, str) for signal in signals):
        must = "the `signals` of a strategy must be names such as judge.quality"
        raise PluginError(must, got=repr(signals), at=owner_of(ref))
    for entry in plan.entries:
        for signal in signals:
            if fault := hidden(entry, signal):
                raise ConfigError(
                    f"a strategy must choose by a signal that {fault[0]}",
                    got=f"{signal} by {settings['strategy']} of {owner_of(ref)}",
                    at=f"mix.{entry.name}",
                    todo=fault[1],
                )
    return strategy


def check_samples(samples: int, temperature: float, *, has_strategy: bool) -> None:
    """Refuse numbers of answers that cannot be meant.

    Raises:
        ConfigError: a strategy without a choice, or answers that are all equal; `at` is the key to point at.
    """
    if has_strategy and samples < 2:
        raise ConfigError(
            "a strategy must have more than one answer to pick from",
            got=f"eval.samples={samples}",
            at="eval.strategy",
            todo="Add eval.samples=8",
        )
    if samples > 1 and not temperature > 0.0:
        raise ConfigError(
            "several answers to a task must be sampled at a temperature above 0, or all are equal",
            got=f"eval.temperature={temperature:g}",
            at="eval.samples",
            todo="Add eval.temperature=1.0",
        )


def visible(entry: EntryPlan) -> frozenset[str]:
    """Return the verifications of a domain, by name, whose signals a strategy may see."""
    return frozenset(name for name in entry.program.verify if not _unseen(entry, name))


def hidden(entry: EntryPlan, signal: str) -> tuple[str, str] | None:
    """Return why a strategy may not choose by a signal, and the way out; None where it may."""
    name, _, field = signal.partition(".")
    verify = entry.program.verify
    if name not in verify or field not in verify[name].signals:
        known = ", ".join(f"{one}.{other}" for one in sorted(visible(entry)) for other in verify[one].signals)
        return "the domain has", f"There is {known}" if known else "Verify with a judge, or choose by mean_logprob"
    if unseen := _unseen(entry, name):
        return (
            f"needs no reference answer, but `{verify[name].use.leaf}` reads {', '.join(sorted(unseen))}",
            "What an oracle would reach stands beside it as pass@n; choose by a judge or by mean_logprob",
        )
    return None


def _unseen(entry: EntryPlan, name: str) -> set[str]:
    """Return the fields that a verification reads and the prompt does not show."""
    program = entry.program
    use = program.verify[name].use
    read = {part.name for argument in use.arguments for part in walk(argument.value) if isinstance(part, Ref)}
    leaf = resolve(entry.leaves[use.leaf])
    if isinstance(leaf, Verifier) and any(one.name in _WHOLE_TASK and one.is_supplied for one in leaf.parameters):
        read |= set(program.fields)
    return (read & set(program.fields)) - _shown(program)


def _shown(program: Program) -> set[str]:
    texts: Iterable[str] = filter(None, (program.system, program.prompt))
    return set().union(*(check_template(text, program.fields)[1] for text in texts))
