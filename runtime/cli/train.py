"""`assay train`: run the graph, watch it, and leave a run folder that can be read."""

import argparse
import re
import signal
import sys
import time
from collections.abc import Sequence

from assay.core.registry import installed
from assay.runtime.cli.job import OVERRIDES, add_job_arguments, has_errors, print_config, print_findings, read_jobs
from assay.runtime.cli.plan import plan_of
from assay.runtime.cli.terminal import Terminal, columns
from assay.runtime.config.job import Job
from assay.runtime.judge.account import judge_table
from assay.runtime.launch.run import Outcome, launch
from assay.runtime.observe.audit_section import audit_line
from assay.runtime.observe.summary import share_line, table
from assay.runtime.preflight.golden import require_golden
from assay.runtime.review.question import people_of
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import RunPlan
from assay.runtime.run.prepare import prepare_run, resume_run

DESCRIPTION = """\
Train a policy on a curriculum. Every stage of the graph is a process of its own; what happens is kept in a run folder
under runs/, and `runs/latest` points to the newest. Ctrl-C ends a run in order, a second one at once; `resume=RUN` goes
on with it."""

EPILOG = f"""\
{OVERRIDES}
short forms:
  seed=N  name=TEXT  resume=RUN    run.seed, run.name, run.resume

exit status: 0 finished; 1 wrong or failed; 2 wrong usage; 3 no progress; 130 ended by Ctrl-C

examples:
  assay train
  assay train curriculum=quickstart seed=1 run.name=second
  assay train algorithm.shuffle_rewards=true
  assay train resume=latest
"""

_SHORT = {"seed": "run.seed", "name": "run.name", "resume": "run.resume"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    add_job_arguments(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Train each job in turn; the exit status is that of the first that did not finish."""
    started_s = time.monotonic()
    registry = installed()
    jobs, findings = read_jobs(lengthen(arguments.overrides), arguments.multirun, registry)
    print_findings(findings, terminal, err=True)
    if has_errors(findings):
        return 1
    if arguments.cfg:
        print_config(jobs, arguments.cfg, terminal)
        return 0
    for job in jobs:
        status = _train(job, terminal, started_s)
        if status:
            return status
        started_s = time.monotonic()
    return 0


def lengthen(texts: Sequence[str]) -> list[str]:
    """Return overrides with short forms written out.

    Example:
        >>> lengthen(["seed=1", "trainer.lr=3e-4"])
        ['run.seed=1', 'trainer.lr=3e-4']
    """
    return [re.sub(r"^(\+*)(\w+)=", lambda m: f"{m[1]}{_SHORT.get(m[2], m[2])}=", text) for text in texts]


def show_outcome(outcome: Outcome, folder: RunFolder, terminal: Terminal) -> None:
    """Print the final table and where everything lies."""
    for row in columns(table(outcome.summary)):
        terminal.print(row)
    episodes = outcome.summary["episodes"]
    dropped = ", ".join(f"{reason} {number}" for reason, number in episodes["dropped"].items()) or "none"
    idle, lag = outcome.summary["trainer_idle"], outcome.summary["lag"]
    terminal.print(
        f"{outcome.summary['updates']} updates, {episodes['submitted']} episodes: {episodes['trained']} trained, "
        f"{episodes['evaluated']} evaluated, {episodes['in_flight']} in flight, dropped: {dropped}"
    )
    if line := share_line(outcome.summary):
        terminal.print(line)
    if line := audit_line(outcome.summary.get("audit", {})):
        terminal.print(line)
    if "judge" in outcome.summary:
        for row in columns(judge_table(outcome.summary["judge"])):
            terminal.print(row)
    lag_text = "-" if lag["mean"] is None else f"{lag['mean']:.2f} (max {lag['max']})"
    terminal.print(
        f"trainer idle {'-' if idle is None else format(idle, '.0%')}, lag {lag_text}, "
        f"{outcome.summary['wall_s']:.0f} s, report {folder.report}"
    )
    for line in outcome.trackers:
        terminal.print(line)


def _train(job: Job, terminal: Terminal, started_s: float) -> int:
    settings = job.composition.settings
    assert settings is not None
    plan, folder = _resume(job) if settings.run.resume is not None else prepare_run(job, plan_of(job), installed())
    terminal.print(f"run {folder.path}")
    for entry in plan.entries:
        if people_of(entry.program):
            terminal.print(f"{entry.name} asks people, who were not tried before: assay review {folder.path} --wait")
    outcome = watch(plan, folder, terminal, started_s)
    show_outcome(outcome, folder, terminal)
    if outcome.status:
        terminal.complain(f"{terminal.paint('ended', 'error', err=True)}: {outcome.reason}")
    return outcome.status


def watch(plan: RunPlan, folder: RunFolder, terminal: Terminal, started_s: float) -> Outcome:
    """Launch a run with the terminal's display.

    Ctrl-C, SIGTERM and a terminal that is closed drain it; a second one ends it.
    """
    signals = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # `nohup` is to outlive its terminal
        signals.append(signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in signals}
    try:
        return launch(plan, folder, terminal.out, started_s, signals)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.stdout.flush()


def _resume(job: Job) -> tuple[RunPlan, RunFolder]:
    from pathlib import Path

    from assay.core.error import ConfigError

    settings = job.composition.settings
    assert settings is not None and settings.run.resume is not None
    allowed = ("run.resume", "run.folder")
    if others := [one.text for one in job.composition.overrides if one.key not in allowed]:
        raise ConfigError(
            "a resumed run must keep its configuration", got=" ".join(others), todo="Start a new run to change it"
        )
    plan, folder = resume_run(settings.run.resume, Path(settings.run.folder))
    # What is installed may have changed since.
    require_golden(plan, installed(), folder.judge)
    return plan, folder
