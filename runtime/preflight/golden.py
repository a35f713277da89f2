"""What a run must pass before it starts: the golden cases of every domain in its mix."""

from collections.abc import Mapping

from assay.core.error import GraderError
from assay.core.registry import Registry
from assay.dsl.expr.function import Entry
from assay.dsl.reduce import Grader, functions_of
from assay.runtime.preflight.control import Subject, control_split, try_controls
from assay.runtime.preflight.example import run_example
from assay.runtime.run.plan import EntryPlan, RunPlan
from assay.runtime.sandbox.open import open_boxes, prepare_boxes
from assay.runtime.stage.source import open_source
from assay.runtime.verify.grade import Rubric
from assay.runtime.verify.host import VerifierHost

# Each run pays for them; `assay test --controls` tries more.
NUM_ROWS = 2


def require_golden(plan: RunPlan, registry: Registry) -> None:
    """Run the examples and controls of every entry and refuse the plan where one does not hold.

    Args:
        plan: Of the run.
        registry: What is installed: its functions may stand in expressions.

    Raises:
        GraderError: a case does not hold; names the first of each entry.
        PluginError: a plugin does not load in its worker.
        SandboxError: the sandbox does not answer, or has not the image of a domain.
    """
    prepare_boxes(plan)
    functions = functions_of([offer.value for offer in registry.of_kind("function")])
    failures = [(entry, failed) for entry in plan.entries if (failed := _failed_example(entry, functions))]
    if not failures:
        failures = _failed_controls(plan, functions)
    if failures:
        entry, first = failures[0]
        others = "".join(f"; {other.name}: {failed}" for other, failed in failures[1:])
        raise GraderError(
            "a grader must give its golden cases what they are worth",
            got=f"{entry.name}: {first}{others}",
            at=", ".join(other.program.identity for other, _ in failures),
            todo=f"`assay test {entry.program.id} --controls` shows all of them",
        )


def _failed_example(entry: EntryPlan, functions: Mapping[str, Entry]) -> str:
    grader = Grader(entry.program, functions)
    for example in entry.program.examples:
        if problem := run_example(grader, example).problem:
            return f"{example.name}: {problem}"
    return ""


def _failed_controls(plan: RunPlan, functions: Mapping[str, Entry]) -> list[tuple[EntryPlan, str]]:
    entries = {entry.name: entry for entry in plan.entries if entry.program.controls}
    if not entries:
        return []
    subjects = [
        Subject(
            entry.name,
            Rubric(entry.program, entry.leaves, entry.modes, functions),
            split := control_split(entry.program),
            open_source(entry.program, split, entry.splits[split]),
        )
        for entry in entries.values()
    ]
    with VerifierHost(boxes=open_boxes(plan)) as host:
        trials = try_controls(subjects, host, NUM_ROWS)
    failed: dict[str, str] = {}
    for trial in trials:
        if trial.problem:
            failed.setdefault(trial.subject, f"control `{trial.control}` on {trial.problem}")
    return [(entries[name], problem) for name, problem in failed.items()]
