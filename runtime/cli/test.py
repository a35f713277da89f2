"""`assay test`: a domain's examples, the first rows of its sources and, where asked, its controls."""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.core.error import AssayError, ConfigError, PluginError
from assay.core.registry import Registry, installed
from assay.dsl.compile import Compiled
from assay.dsl.expr.function import Entry
from assay.dsl.index import DomainIndex, read_domain_file
from assay.dsl.reduce import Grader, functions_of
from assay.runtime.cli.job import has_errors, print_findings
from assay.runtime.cli.judge import HELP as JUDGE
from assay.runtime.cli.judge import part_words, read_judge
from assay.runtime.cli.terminal import Terminal, columns, plural
from assay.runtime.preflight.example import Outcome, run_example
from assay.runtime.preflight.reading import Reading, read_rows

if TYPE_CHECKING:
    from assay.runtime.preflight.calibration import Agreement
    from assay.runtime.preflight.control import Trial

DESCRIPTION = """\
Compile domains, run their examples through the compiled reward, and read the first rows of their sources. No model and
no sandbox. With --controls, grade the answers whose reward is known end to end: parser and verifiers run in the
locked-down processes of a run, in a real sandbox where they ask for one. Verifications that the domain calibrates are
held against its marked answers too."""

EPILOG = """\
exit status: 0 all hold; 1 a domain does not compile, an example or a control fails, or a row does not fit; 2 wrong
usage, or controls could not be tried here

examples:
  assay test quickstart.spell
  assay test quickstart.spell --controls
  assay test fix_bug.yaml --rows 100
  assay test essay.yaml --controls judge=openai judge.base_url=http://localhost:8000/v1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument(
        "domains", nargs="+", metavar="DOMAIN|FILE|OVERRIDE", help=f"ids of installed domains, or files; {JUDGE}"
    )
    parser.add_argument("--rows", type=_count, default=8, metavar="N", help="rows to read of each source; default: 8")
    parser.add_argument("--controls", action="store_true", help="grade controls and marked answers")
    parser.add_argument("--sandbox", metavar="NAME", help="where controls get boxes; default: what declares enough")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Test the domains, all of them whatever fails."""
    registry = installed()
    index = DomainIndex(registry)
    found: list[tuple[str, Compiled]] = []
    names, words = part_words(arguments.domains)
    judge = read_judge(words, registry)
    if arguments.sandbox is not None:
        registry.find("sandbox", arguments.sandbox)
    for name in names:
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
        trials: list[Trial] = []
        agreements: list[Agreement] = []
        if arguments.controls:
            trials, agreements = _controls(name, compiled, registry, functions, arguments, judge)
        problems = [outcome.problem for outcome in outcomes] + [row.problem for row in rows]
        tried: list[Trial | Agreement] = [*trials, *agreements]
        problems += [one.problem for one in tried if not one.is_lost]
        is_untried |= any(one.is_lost for one in tried)
        failed = has_errors(compiled.findings) or any(problems)
        status |= int(failed)
        reports.append(_to_json(name, compiled, outcomes, rows, trials, agreements))
        if arguments.format == "text":
            _print(name, compiled, outcomes, rows, trials, agreements, terminal)
    if arguments.format == "json":
        terminal.print(json.dumps({"domains": reports}, indent=2))
    return status or (2 if is_untried else 0)


def _controls(
    name: str,
    compiled: Compiled,
    registry: Registry,
    functions: dict[str, Entry],
    arguments: argparse.Namespace,
    judge: dict[str, Any],
) -> "tuple[list[Trial], list[Agreement]]":
    """Try the controls and calibrations of one domain; what keeps all from being tried is one trial without a name."""
    from assay.runtime.judge.open import choose_judge
    from assay.runtime.preflight.backend import choose_backend
    from assay.runtime.preflight.calibration import calibrations, marked, try_calibrations
    from assay.runtime.preflight.control import Trial, subject_of, try_controls
    from assay.runtime.sandbox.host import BoxHost
    from assay.runtime.verify.host import VerifierHost

    if compiled.program is None or compiled.facts is None:
        return [], []

    def none(problem: str, *, is_lost: bool = False) -> "tuple[list[Trial], list[Agreement]]":
        return [Trial(name, "", "", (), problem, is_lost=is_lost)], []

    program = compiled.program
    if not program.controls and not calibrations(program):
        return none("a domain must have `controls` to be tried, got none")
    if arguments.rows == 0:
        return none("controls must have rows to be filled from, got --rows 0")
    leaves = dict.fromkeys(verify.use.leaf for verify in program.verify.values())
    judged = [leaf for leaf in leaves if registry.find("verifier", leaf).value.asks_judge]
    try:
        backend = choose_backend(compiled.facts.needs, registry, arguments.sandbox)
        judges = choose_judge(judged, judge, registry, is_preflight=True)
    except (PluginError, ConfigError) as error:
        return none(f"{error.error_code}: {error}", is_lost=True)
    try:
        subject = subject_of(name, compiled, registry, functions)
    except Exception as error:  # a source is a package's code; whatever it raises on being opened
        text = str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
        return none(f"DA001: a source must open, got {text}")
    answers = marked(name, subject.rubric, compiled.base, registry)
    with VerifierHost(boxes=None if backend is None else BoxHost(backend), judges=judges) as host:
        return try_controls([subject], host, arguments.rows), try_calibrations([answers], host)


def _print(
    name: str,
    compiled: Compiled,
    outcomes: list[Outcome],
    rows: list[Reading],
    trials: "list[Trial]",
    agreements: "list[Agreement]",
    terminal: Terminal,
) -> None:
    print_findings(compiled.findings, terminal)
    title = compiled.program.identity if compiled.program is not None else name
    terminal.print(terminal.paint(title, "strong"))
    marks = {"pass": "good", "fail": "error", "lost": "warning", "skip": "warning"}
    table: list[tuple[str, tuple[str, ...]]] = []
    for outcome in outcomes:
        got = "" if outcome.payout is None else f"got {outcome.payout.reward:g}"
        state = "fail" if outcome.problem else "pass"
        table.append((state, (outcome.name, f"reward {outcome.expected}", got, outcome.problem)))
    for row in rows:
        state = "fail" if row.problem else "pass"
        table.append((state, (f"data.{row.split}", plural(row.count, "row"), "", row.problem or "fit")))
    for trial in trials:
        state = "lost" if trial.is_lost else "fail" if trial.problem else "skip" if trial.note else "pass"
        table.append((state, _cells(trial)))
    for one in agreements:
        state = "lost" if one.is_lost else "fail" if one.problem else "pass"
        got = f"got {one.share:.3g}" if one.held + one.broken else ""
        cells = (f"calibration.{one.verify}", f"agreement {one.expected}", got)
        table.append((state, (*cells, one.problem or plural(one.held + one.broken, "row"))))
    for (state, _), line in zip(table, columns([cells for _, cells in table]), strict=True):
        terminal.print(f"  {terminal.paint(state, marks[state])}  {line}")
    counts = Counter(state for state, _ in table)
    if compiled.program is None:
        terminal.print("  does not compile\n")
    else:
        none = "" if outcomes else "no examples, "
        lost = f", {counts['lost']} could not be tried" if counts["lost"] else ""
        left = f", {counts['skip']} left to people" if counts["skip"] else ""
        terminal.print(f"  {none}{counts['pass']} passed, {counts['fail']} failed{lost}{left}\n")


def _cells(trial: "Trial") -> tuple[str, ...]:
    paid = sorted(trial.rewards)
    got = "" if not paid else f"got {paid[0]:g}" if paid[0] == paid[-1] else f"got {paid[0]:g} to {paid[-1]:g}"
    wanted = f"reward {trial.expected}" if trial.expected else ""
    name = f"controls.{trial.control}" if trial.control else "controls"
    return name, wanted, got, trial.problem or trial.note or plural(len(paid), "row")


def _to_json(
    name: str,
    compiled: Compiled,
    outcomes: list[Outcome],
    rows: list[Reading],
    trials: "list[Trial]",
    agreements: "list[Agreement]",
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
             "problem": trial.problem, "is_lost": trial.is_lost, "note": trial.note}
            for trial in trials
        ],
        "calibration": [
            {"verify": one.verify, "expected": one.expected, "held": one.held, "broken": one.broken, "lost": one.lost,
             "problem": one.problem, "is_lost": one.is_lost}
            for one in agreements
        ],
    }  # fmt: skip


def _count(text: str) -> int:
    value = int(text) if text.isdecimal() and len(text) < 10 else -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, got {text!r}")
    return value
