"""`assay doctor`: what is missing here, and the command that mends it."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from assay.core.registry import installed
from assay.runtime.cli.terminal import Terminal, plural
from assay.runtime.preflight import installation, machine
from assay.runtime.preflight.check import Check

DESCRIPTION = """\
Look at this installation and this machine: Python, packages, plugins, the lockdown of verifiers, memory, the container
engine, room for runs. Each thing that is missing comes with the command that installs or mends it. Nothing is changed,
and PyTorch is not loaded."""

EPILOG = """\
ok    is there
warn  only some runs need it
fail  every run needs it

exit status: 0 a run can start; 1 something fails (with --strict also a warning); 2 wrong usage

examples:
  assay doctor
  assay doctor --format json
"""

_STYLES = {"ok": "good", "warn": "warning", "fail": "error"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--strict", action="store_true", help="treat warnings as failures")
    parser.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="FOLDER", help="where runs are; default runs"
    )


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Check everything and print it."""
    checks = list(examine(arguments.runs))
    counts = Counter(check.state for check in checks)
    status = int(bool(counts["fail"] or (arguments.strict and counts["warn"])))
    if arguments.format == "json":
        content = {
            "ok": not status,
            "checks": [{"name": c.name, "state": c.state, "found": c.found, "fix": c.fix} for c in checks],
        }
        terminal.print(json.dumps(content, indent=2))
        return status
    width = max(len(check.name) for check in checks)
    for check in checks:
        label = terminal.paint(f"{check.state:<4}", _STYLES[check.state])
        terminal.print(f"{label}  {check.name:<{width}}  {check.found}")
        if check.fix:
            terminal.print(f"{'':{width + 8}}{terminal.paint(check.fix, 'strong')}")
    terminal.print(f"\n{plural(counts['fail'], 'failure')}, {plural(counts['warn'], 'warning')}")
    return status


def examine(runs: Path) -> Iterator[Check]:
    """Yield every check.

    Args:
        runs: Where run folders go.
    """
    registry = installed()
    yield installation.check_python()
    yield from installation.check_packages()
    yield installation.check_torch()
    yield from installation.check_plugins(registry)
    yield installation.check_sandboxes(registry)
    yield machine.check_engine()
    yield machine.check_lockdown()
    yield machine.check_shared_memory()
    yield machine.check_memory()
    yield machine.check_cores()
    yield machine.check_runs(runs)
