"""What a run must pass before it starts: the golden cases and calibrations of every domain in its mix."""

from collections.abc import Mapping
from pathlib import Path

from assay.core.error import GraderError
from assay.core.registry import Registry
from assay.dsl.expr.function import Entry
from assay.dsl.reduce import Grader, functions_of
from assay.runtime.judge.open import open_judge
from assay.runtime.preflight.calibration import calibrations, marked, try_calibrations
from assay.runtime.preflight.control import Subject, control_split, try_controls
from assay.runtime.preflight.example import run_example
from assay.runtime.run.plan import EntryPlan, RunPlan
from assay.runtime.sandbox.open import open_boxes, prepare_boxes
from assay.runtime.stage.source import open_source
from assay.runtime.verify.grade import Rubric
from assay.runtime.verify.host import VerifierHost

# Each run pays for them; `assay test --controls` tries more.
NUM_ROWS = 2


def require_golden(plan: RunPlan, registry: Registry, cache: Path | None = None) -> None:
    """Run the examples, controls and marked answers of every entry and refuse the plan where one does not hold.

    Args:
        plan: Of the run.
        registry: What is installed: its functions may stand in expressions.
        cache: Replies of a judge, of a run that is gone on with.

    Raises:
        GraderError: a case does not hold; names the first of each entry.
        ConfigError: the judge refuses its settings.
        PluginError: a plugin does not load in its worker.
        SandboxError: the sandbox does not answer, or has not the image of a domain.
    """
    prepare_boxes(plan)
    # Settings that a judge refuses are refused before anything starts, also where nothing is tried.
    if (judges := open_judge(plan, is_preflight=True)) is not None:
        judges.close()
    functions = functions_of([offer.value for offer in registry.of_kind("function")])
    failures = [(entry, failed) for entry in plan.entries if (failed := _failed_example(entry, functions))]
    if not failures:
        failures = _failed_gradings(plan, functions, registry, cache)
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


def _failed_gradings(
    plan: RunPlan, functions: Mapping[str, Entry], registry: Registry, cache: Path | None
) -> list[tuple[EntryPlan, str]]:
    entries = {e.name: e for e in plan.entries if e.program.controls or calibrations(e.program)}
    if not entries:
        return []
    rubrics = {name: Rubric(entry.program, entry.leaves, entry.modes, functions) for name, entry in entries.items()}
    subjects = [
        Subject(
            name,
            rubrics[name],
            split := control_split(entry.program),
            open_source(entry.program, split, entry.splits[split]),
        )
        for name, entry in entries.items()
        if entry.program.controls
    ]
    answers = [marked(name, rubrics[name], Path(entry.base), registry) for name, entry in entries.items()]
    with VerifierHost(boxes=open_boxes(plan), judges=open_judge(plan, cache, is_preflight=True)) as host:
        trials = try_controls(subjects, host, NUM_ROWS)
        agreements = try_calibrations(answers, host)
    failed: dict[str, str] = {}
    for trial in trials:
        if trial.problem:
            failed.setdefault(trial.subject, f"control `{trial.control}` on {trial.problem}")
    for agreement in agreements:
        if agreement.problem:
            failed.setdefault(agreement.subject, f"calibration `{agreement.verify}`: {agreement.problem}")
    return [(entries[name], problem) for name, problem in failed.items()]
