"""Words that choose a job, shared by the verbs that take overrides: reading, `-m`, `--cfg`, findings."""

import argparse
from collections.abc import Iterable, Sequence

from assay.core.registry import Registry
from assay.dsl.source.diagnostic import Finding, render, sort_findings
from assay.runtime.cli.terminal import Terminal, plural
from assay.runtime.config.job import Job, prepare
from assay.runtime.config.override import read_overrides
from assay.runtime.config.sweep import expand

OVERRIDES = """\
overrides:
  GROUP=NAME            choose a file of a group: curriculum, policy, engine, trainer, algorithm, scheduler, sandbox,
                        judge, launcher, store, tracker, eval, run; curriculum also takes a path
  GROUP.KEY=VALUE       set a key, such as trainer.lr=3e-4
  curriculum.KEY=VALUE  edit the curriculum, such as curriculum.mix.spell.share=2
  domain.ENTRY.KEY=...  edit the domain of a mix entry, such as domain.spell.reward.outcome.correct='0.5*ans.equal'
  +KEY=VALUE  ~KEY      add a new name; remove one
"""


def add_job_arguments(parser: argparse.ArgumentParser) -> None:
    """Add overrides, `-m` and `--cfg`."""
    parser.add_argument("overrides", nargs="*", metavar="OVERRIDE", help="see below")
    parser.add_argument("-m", "--multirun", action="store_true", help="one job per combination of values `a,b`")
    parser.add_argument(
        "--cfg", choices=("job", "hydra", "all"), help="print the composed configuration, with its origins, and end"
    )


def read_jobs(texts: Sequence[str], is_sweep: bool, registry: Registry) -> tuple[list[Job], list[Finding]]:
    """Return the jobs that overrides describe, and all findings of all of them."""
    overrides, findings = read_overrides(texts)
    jobs = [overrides]
    if is_sweep:
        jobs, found = expand(overrides)
        findings += found
    prepared = [prepare(job, registry) for job in jobs]
    findings += [found for job in prepared for found in job.findings]
    return prepared, sort_findings(findings)


def print_findings(findings: Iterable[Finding], terminal: Terminal, *, err: bool = False) -> None:
    """Print findings with their carets, a blank line behind each."""
    for found in findings:
        first, _, rest = render(found).partition("\n")
        label, mark, message = first.partition(": ")
        text = f"{terminal.paint(label, found.severity, err=err)}{mark}{message}\n{rest}\n"
        terminal.complain(text) if err else terminal.print(text)


def count_text(findings: Sequence[Finding], terminal: Terminal, *, err: bool = False) -> str:
    """Return `1 error, 0 warnings`, in a colour that says whether that is good."""
    errors = sum(found.severity == "error" for found in findings)
    warnings = len(findings) - errors
    style = "error" if errors else "warning" if warnings else "good"
    return terminal.paint(f"{plural(errors, 'error')}, {plural(warnings, 'warning')}", style, err=err)


def has_errors(findings: Iterable[Finding]) -> bool:
    """Whether one is an error."""
    return any(found.severity == "error" for found in findings)


def print_config(jobs: Sequence[Job], what: str, terminal: Terminal) -> None:
    """Print `--cfg job`, `hydra` or `all` of each job as YAML; every value of a job says where it comes from."""
    from assay.runtime.config.listing import job_text, plain_text

    for index, job in enumerate(jobs):
        if index:
            terminal.print("---")
        if what in ("job", "all"):
            terminal.print(job_text(job).rstrip("\n"))
        if what in ("hydra", "all"):
            terminal.print(plain_text({"hydra": job.composition.hydra}).rstrip("\n"))
