"""From a checked job to a run folder that is ready to be launched, and from a run folder back to a run."""

import contextlib
import json
import shutil
import tempfile
from pathlib import Path

import msgspec

from assay.core.error import ConfigError
from assay.core.name import suggestion
from assay.core.registry import Registry
from assay.dsl.plan import Plan
from assay.dsl.program import print_program
from assay.runtime.config.job import Job
from assay.runtime.config.listing import job_text
from assay.runtime.observe.reading import Reading
from assay.runtime.preflight.golden import require_golden
from assay.runtime.run.build import build_plan
from assay.runtime.run.folder import RunFolder, make_folder, open_folder
from assay.runtime.run.plan import RunPlan, read_plan, write_plan


def prepare_run(job: Job, graph: Plan, registry: Registry) -> tuple[RunPlan, RunFolder]:
    """Make the folder of a new run and write into it everything that is known before it starts.

    Args:
        job: Without errors.
        graph: Its dataflow graph.
        registry: What is installed.

    Raises:
        AssayError: the job asks for what cannot be kept, a grader fails a golden case, or the folder cannot be written.
    """
    settings, mix = job.composition.settings, job.mix
    assert settings is not None and mix is not None and mix.compiled.curriculum is not None
    curriculum, domains = mix.compiled.curriculum, mix.compiled.domains
    # Everything that can be refused is refused before a folder is made.
    if settings.policy.path is not None and not (Path(settings.policy.path) / "config.json").is_file():
        raise ConfigError("a policy folder must hold a config.json", got="none", at=settings.policy.path)
    plan = build_plan(curriculum, domains, settings, registry, Path(settings.policy.path or "policy").resolve())
    with tempfile.TemporaryDirectory(prefix="assay-") as place:
        # What a judge was paid for before the run is the run's too.
        replies = Path(place) / "judge.sqlite"
        require_golden(plan, registry, replies)
        folder = make_folder(Path(settings.run.folder), plan.name)
        with contextlib.suppress(OSError):  # none was asked; or they are asked again
            shutil.copyfile(replies, folder.judge)
    if settings.policy.path is None:
        plan = msgspec.structs.replace(plan, policy=str(folder.policy))
    try:
        (folder.path / "config.yaml").write_text(job_text(job), encoding="utf-8")
        (folder.path / "origins.json").write_text(json.dumps(job.origins(), indent=1) + "\n", encoding="utf-8")
        (folder.path / "plan.json").write_bytes(msgspec.json.format(msgspec.json.encode(graph), indent=1))
        programs = folder.path / "programs"
        programs.mkdir()
        for entry in plan.entries:
            (programs / f"{entry.name}.json").write_bytes(print_program(entry.program))
        write_plan(folder.path, plan)
    except OSError as error:
        raise ConfigError("a run folder must be writable", got=error.strerror, at=folder.path) from None
    return plan, folder


def resume_run(name: str, parent: Path) -> tuple[RunPlan, RunFolder]:
    """Return a run to go on with.

    Args:
        name: Its folder, or the name of one below `parent`.
        parent: Where run folders are made.

    Raises:
        ConfigError: there is no such run, it has no checkpoint to go on from, or it is finished.
        StoreError: its ledger cannot be read.
    """
    folder = find_run(name, parent)
    plan = read_plan(folder.path)
    with Reading(folder.ledger) as reading:
        if not reading.has_checkpoint():
            raise ConfigError(
                "a run must have a checkpoint to be resumed from", got="none", at=folder.path, todo="Start it anew"
            )
        if reading.is_finished() and folder.summary.exists():
            todo = "`assay eval` scores it, `assay train` starts another"
            raise ConfigError("a run must not be over to be resumed", got="a finished one", at=folder.path, todo=todo)
    return plan, folder


def find_run(name: str, parent: Path) -> RunFolder:
    """Return the folder of a run by path, or by name below `parent`.

    Raises:
        ConfigError: there is none.
    """
    for path in (Path(name), parent / name):
        if path.is_dir():
            return open_folder(path)
    names = [plan.parent.name for plan in parent.glob("*/plan.json")]
    todo = suggestion(name, names) or "No run is there: `assay train` makes one"
    raise ConfigError("a run must be named by its folder", got=name, at=parent, todo=todo)
