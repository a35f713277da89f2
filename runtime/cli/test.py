"""`assay test`: a domain's examples, the first rows of its sources and, where asked, its controls."""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.core.error import AssayError, PluginError
from assay.core.registry import Registry, installed
from assay.dsl.compile import Compiled
from assay.dsl.expr.function import Entry
from assay.dsl.index import DomainIndex, read_domain_file
from assay.dsl.reduce import Grader, functions_of
from assay.runtime.cli.job import has_errors, print_findings
from assay.runtime.cli.terminal import Terminal, columns, plural
from assay.runtime.preflight.example import Outcome, run_example
from assay.runtime.preflight.reading import Reading, read_rows

if TYPE_CHECKING:
    from assay.runtime.preflight.control import Trial

DESCRIPTION = """\
Compile domains, run their examples through the compiled reward, and read the first rows of their sources. No model and
no sandbox. With --controls, grade the answers whose reward is known end to end: parser and verifiers run in the
locked-down processes of a run, in a real sandbox where they ask for one."""

EPILOG = """\
exit status: 0 all hold; 1 a domain does not compile, an example or a control fails, or a row does not fit; 2 wrong
usage, or controls could not be tried here

examples:
  assay test quickstart.spell
  assay test quickstart.spell --controls
  assay test fix_bug.yaml --rows 100
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("domains", nargs="+", metavar="DOMAIN", help="ids of installed domains, or files")
    parser.add_argument("--rows", type=_count, default=8, metavar="N", help="rows to read of each source; default: 8")
    parser.add_argument("--controls", action="store_true", help="grade the controls on those rows")
    parser.add_argument("--sandbox", metavar="NAME", help="where controls get boxes; default: what declares enough")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Test the domains, all of them whatever fails."""
    registry = installed()
    index = DomainIndex(registry)
    found: list[tuple[str, Compiled]] = []
    for name in arguments.domains:
        try:
            is_file = name.endswith((".yaml", ".yml")) or Path(name).exists()
            found.append((name, (read_domain_file(Path(name)) if is_file else index.find(name)).compile(registry)))
        except (PluginError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            terminal.complain(f"assay test: error: {name}: {reason}")
            return 2
    functions = functions_of([offer.value for offer in registry.of_kind("function")])
    reports: list[dict[str, Any]] = []
    status = 0
    is_untried = False
    for name, compiled in found:
        outcomes: list[Outcome] = []
        rows: list[Reading] = []
        if compiled.program is not None:
            grader = Grader(compiled.program, functions)
            outcomes = [run_example(grader, example) for example in compiled.program.examples]
            rows = list(read_rows(compiled.program, compiled.base, registry, arguments.rows))
        trials = _controls(name, compiled, registry, functions, arguments) if arguments.controls else []
        problems = [outcome.problem for outcome in outcomes] + [row.problem for row in rows]
        problems += [trial.problem for trial in trials if not trial.is_lost]
        is_untried |= any(trial.is_lost for trial in trials)
        failed = has_errors(compiled.findings) or any(problems)
        status |= int(failed)
        reports.append(_to_json(name, compiled, outcomes, rows, trials))
        if arguments.format == "text":
            _print(name, compiled, outcomes, rows, trials, terminal)
    if arguments.format == "json":
        terminal.print(json.dumps({"domains": reports}, indent=2))
    return status or (2 if is_untried else 0)


def _controls(
    name: str, compiled: Compiled, registry: Registry, functions: dict[str, Entry], arguments: argparse.Namespace
) -> "list[Trial]":
    """Try the controls of one domain; what keeps all of them from being tried is one trial without a name."""
    from assay.runtime.preflight.backend import choose_backend
    from assay.runtime.preflight.control import Trial, subject_of, try_controls
    from assay.runtime.sandbox.host import BoxHost
    from assay.runtime.verify.host import VerifierHost

    if compiled.program is None or compiled.facts is None:
        return []
    if not compiled.program.controls:
        return [Trial(name, "", "", (), "a domain must have `controls` to be tried, got none")]
    if arguments.rows == 0:
        return [Trial(name, "", "", (), "controls must have rows to be filled from, got --rows 0")]
    try:
        backend = choose_backend(compiled.facts.needs, registry, arguments.sandbox)
    except PluginError as error:
        return [Trial(name, "", "", (), f"{error.error_code}: {error}", is_lost=True)]
    try:
        subject = subject_of(name, compiled, registry, functions)
    except Exception as error:  # a source is a package's code; whatever it raises on being opened
        text = str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
        return [Trial(name, "", "", (), f"DA001: a source must open, got {text}")]
    with VerifierHost(boxes=None if backend is None else BoxHost(backend)) as host:
        return try_controls([subject], host, arguments.rows)


def _print(
    name: str,
    compiled: Compiled,
    outcomes: list[Outcome],
    rows: list[Reading],
    trials: "list[Trial]",
    terminal: Terminal,
) -> None:
    print_findings(compiled.findings, terminal)
    title = compiled.program.identity if compiled.program is not None else name
    terminal.print(terminal.paint(title, "strong"))
    marks = {"pass": "good", "fail": "error", "lost": "warning"}
    table: list[tuple[str, tuple[str, ...]]] = []
    for one in outcomes:
        got = "" if one.payout is None else f"got {one.payout.reward:g}"
        state = "fail" if one.problem else "pass"
        table.append((state, (one.name, f"reward {one.expected}", got, one.problem)))
    for row in rows:
        state = "fail" if row.problem else "pass"
        table.append((state, (f"data.{row.split}", plural(row.count, "row"), "", row.problem or "fit")))
    for trial in trials:
        state = "lost" if trial.is_lost else "fail" if trial.problem else "pass"
        table.append((state, _cells(trial)))
    for (state, _), line in zip(table, columns([cells for _, cells in table]), strict=True):
        terminal.print(f"  {terminal.paint(state, marks[state])}  {line}")
    counts = Counter(state for state, _ in table)
    if compiled.program is None:
        terminal.print("  does not compile\n")
    else:
        none = "" if outcomes else "no examples, "
        lost = f", {counts['lost']} could not be tried" if counts["lost"] else ""
        terminal.print(f"  {none}{counts['pass']} passed, {counts['fail']} failed{lost}\n")


def _cells(trial: "Trial") -> tuple[str, ...]:
    paid = sorted(trial.rewards)
    got = "" if not paid else f"got {paid[0]:g}" if paid[0] == paid[-1] else f"got {paid[0]:g} to {paid[-1]:g}"
    wanted = f"reward {trial.expected}" if trial.expected else ""
    name = f"controls.{trial.control}" if trial.control else "controls"
    return name, wanted, got, trial.problem or plural(len(paid), "row")


def _to_json(
    name: str, compiled: Compiled, outcomes: list[Outcome], rows: list[Reading], trials: "list[Trial]"
) -> dict[str, Any]:
    return {
        "domain": name,
        "diagnostics": [found.to_json() for found in compiled.findings],
        "examples": [
            {"name": one.name, "expected": one.expected, "problem": one.problem,
             "reward": None if one.payout is None else one.payout.reward,
             "success": None if one.payout is None else one.payout.success}
            for one in outcomes
        ],
        "rows": [{"split": row.split, "count": row.count, "problem": row.problem} for row in rows],
        "controls": [
            {"name": trial.control, "expected": trial.expected, "rewards": list(trial.rewards),
             "problem": trial.problem, "is_lost": trial.is_lost}
            for trial in trials
        ],
    }  # fmt: skip


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be at least 0")
    return value
