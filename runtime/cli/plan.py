"""`assay plan`: the graph a run would execute."""

import argparse
import json
import shutil

import msgspec

from assay.core.error import SourceError
from assay.core.registry import installed
from assay.dsl.plan import Plan, Resources, build_plan
from assay.dsl.source.diagnostic import Finding
from assay.runtime.cli.job import (
    OVERRIDES,
    add_job_arguments,
    count_text,
    has_errors,
    print_config,
    print_findings,
    read_jobs,
)
from assay.runtime.cli.terminal import Terminal
from assay.runtime.config.job import Job
from assay.runtime.verify.refusal import no_judge

DESCRIPTION = """\
Compile a curriculum with its domains and show the graph that a run would execute: stages, queues, capacities, and what
is proved of every domain. Nothing is started."""

EPILOG = f"""\
{OVERRIDES}
examples:
  assay plan
  assay plan curriculum=quickstart curriculum.mix.spell.share=2 --format mermaid
  assay plan -m launcher.rollouts=1,2 --format json
  assay plan trainer.lr=3e-4 --cfg job
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    add_job_arguments(parser)
    parser.add_argument("--format", choices=("text", "json", "mermaid"), default="text", help="default: text")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Print the plan of each job."""
    jobs, findings = read_jobs(arguments.overrides, arguments.multirun, installed())
    if has_errors(findings):
        return _refuse(findings, terminal)
    print_findings(findings, terminal, err=True)
    if arguments.cfg:
        print_config(jobs, arguments.cfg, terminal)
        return 0
    plans = []
    for job in jobs:
        try:
            plans.append(plan_of(job))
        except SourceError as error:
            return _refuse([found for found in error.findings if isinstance(found, Finding)], terminal)
    for index, (job, plan) in enumerate(zip(jobs, plans, strict=True)):
        if len(plans) > 1 and arguments.format == "text":
            texts = " ".join(override.text for override in job.composition.overrides)
            terminal.print(f"{chr(10) if index else ''}{terminal.paint(f'job {index}: {texts}', 'strong')}")
        terminal.print(_show(plan, arguments.format).rstrip("\n"))
        for text in _judges_lacked(job):
            terminal.complain(f"{terminal.paint('warning', 'warning', err=True)}: {text}")
    return 0


def plan_of(job: Job) -> Plan:
    """Return the plan of a job without errors.

    Raises:
        SourceError: a domain needs a sandbox that no installed backend declares (SB001).
    """
    settings, mix = job.composition.settings, job.mix
    assert settings is not None and mix is not None
    resources = Resources(
        sources=settings.launcher.sources,
        rollouts=settings.launcher.rollouts,
        verifiers=settings.launcher.verifiers,
        trainers=settings.launcher.trainers,
        slots=int(settings.engine.options.get("max_active", Resources().slots)),
        questions=1 if settings.judge.name == "none" else settings.judge.concurrency,
        batch=settings.trainer.batch,
        max_staleness=settings.scheduler.max_staleness,
    )
    return build_plan(mix.compiled, resources, has_sandbox=settings.sandbox.name != "none")


def _judges_lacked(job: Job) -> list[str]:
    """Return a line per entry that `assay train` will refuse, because it asks a judge and none is chosen."""
    assert job.composition.settings is not None and job.mix is not None and job.mix.compiled.curriculum is not None
    if job.composition.settings.judge.name != "none":
        return []
    registry, lines = installed(), []
    for name, compiled in job.mix.compiled.domains.items():
        leaves = [verify.use.leaf for verify in compiled.require().verify.values()]
        asking = [leaf for leaf in leaves if registry.find("verifier", leaf).value.asks_judge]
        lines += [str(no_judge(leaf, f"mix.{name}")) for leaf in asking[:1]]
    return lines


def _show(plan: Plan, form: str) -> str:
    from assay.dsl.diagram import plan_mermaid, plan_text

    if form == "json":
        return json.dumps(msgspec.to_builtins(plan), indent=2)
    return plan_text(plan, shutil.get_terminal_size((100, 24)).columns) if form == "text" else plan_mermaid(plan)


def _refuse(findings: list[Finding], terminal: Terminal) -> int:
    print_findings(findings, terminal, err=True)
    terminal.complain(f"no plan: {count_text(findings, terminal, err=True)}")
    return 1
