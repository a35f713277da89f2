"""`assay regrade`: a run's stored episodes under an edited domain."""

import argparse
import json
from pathlib import Path
from typing import Any

import msgspec

from assay.core.registry import installed
from assay.dsl.reduce import functions_of
from assay.runtime.cli.diff import STYLES, counts_text, episodes_json, reason_lines
from assay.runtime.cli.judge import HELP as JUDGE
from assay.runtime.cli.judge import part_words, read_judge
from assay.runtime.cli.terminal import Terminal, columns, plural
from assay.runtime.regrade.archive import Archive
from assay.runtime.regrade.edit import edited
from assay.runtime.regrade.regrade import Regraded, Regrader
from assay.runtime.regrade.shift import Shift, Spread
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review.desk import PeopleDesk
from assay.runtime.review.store import read_marks
from assay.runtime.run.prepare import find_run

DESCRIPTION = """\
Grade a run's stored episodes again under an edited domain, with no rollout: arithmetic over stored signals where these
suffice, verifiers on stored trajectories where not. The old verdicts stay; the new ones go into a file beside the
ledger. Shows what changes: rewards, ranks inside groups, advantages with another sign."""

EPILOG = """\
Without --domain and overrides every entry is graded by its own declaration with the verifiers installed now.
Overrides of a declaration: domain.ENTRY.KEY=VALUE, as for `assay train`.

exit status: 0 done; 1 an edit does not compile, or a verifier whose failure is fatal failed; 2 wrong usage

examples:
  assay regrade latest domain.spell.reward.outcome.correct='0.5*ans.equal'
  assay regrade latest --domain spell=spell.yaml
  assay regrade latest --marks
  assay regrade latest --unscored
  assay regrade runs/20261130-191800-quickstart --domain spell=spell.yaml --dry-run --format json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("run", metavar="RUN", help="folder of a run, or its name; `latest` is the newest")
    parser.add_argument("overrides", nargs="*", metavar="OVERRIDE", help=f"domain.ENTRY.KEY=VALUE; {JUDGE}")
    parser.add_argument("--domain", action="append", default=[], metavar="ENTRY=FILE", help="edited domain of an entry")
    parser.add_argument("--runs", default="runs", metavar="FOLDER", help="where runs are; default runs")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="verifier processes; default 1")
    parser.add_argument("--sandbox", metavar="NAME", help="where verifiers get boxes; default: as in the run")
    parser.add_argument("--marks", action="store_true", help="put what people said in `assay review` in place")
    parser.add_argument(
        "--unscored", action="store_true", help="try again what could not be measured, also without an edit"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what changes and keep nothing")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Regrade, keep and print."""
    registry = installed()
    functions = functions_of([offer.value for offer in registry.of_kind("function")])
    folder = find_run(arguments.run, Path(arguments.runs))
    with StoredRun(folder) as stored:
        overrides, judge = part_words(arguments.overrides)
        programs = edited(stored, arguments.domain, overrides, registry)
        with Archive(folder.path) as archive:
            grader = Regrader(
                stored,
                archive,
                registry,
                functions,
                num_processes=max(1, arguments.processes),
                sandbox=arguments.sandbox,
                judge=read_judge(judge, registry) if judge else None,
                people=None if arguments.dry_run else PeopleDesk(folder.path, can_wait=False),
                marks=read_marks(folder.path) if arguments.marks else None,
                should_retry=arguments.unscored,
            )
            found = {name: grader.regrade(name, program) for name, program in programs.items()}
            report = {name: _to_json(one) for name, one in found.items()}
            path = None if arguments.dry_run else archive.keep({"plan": stored.plan.digest, "entries": report})
    if arguments.format == "json":
        terminal.print(json.dumps({"run": str(folder.path), "kept": path and str(path), "entries": report}, indent=2))
        return 0
    for one in found.values():
        _print(one, terminal)
    terminal.print("nothing kept" if path is None else f"kept in {path}; the ledger is as it was")
    return 0


def _print(one: Regraded, terminal: Terminal) -> None:
    change = one.priced.change
    label = terminal.paint(change.effect, STYLES[change.effect])
    terminal.print(f"{label}  {terminal.paint(one.priced.entry, 'strong')}  {counts_text(one.priced)}")
    for text in reason_lines(change):
        terminal.print(f"  {text}")
    for text in shift_lines(one.shift):
        terminal.print(f"  {text}")
    if one.overridden:
        terminal.print(f"  {plural(one.overridden, 'verdict')} overridden by marks")
    terminal.print(f"  {one.reduce_s:.2f} s of arithmetic, {one.regrade_s:.2f} s of verifying")


def shift_lines(shift: Shift) -> list[str]:
    """Return what changes, for people."""
    rows = [["", "scored", "unscored", "success", "mean", "std", "min", "p10", "p50", "p90", "max"]]
    rows += [[name, *_cells(spread)] for name, spread in (("before", shift.before), ("after", shift.after))]
    lines = [
        *columns(rows),
        f"{plural(shift.changed, 'reward')} changed",
        f"{plural(shift.groups_reranked, 'group')} of {shift.groups:,} ranked otherwise: of {shift.pairs:,} pairs "
        f"{shift.pairs_swapped:,} swapped, {shift.pairs_tied:,} tied, {shift.pairs_parted:,} told apart",
        f"{plural(shift.num_flips, 'advantage')} with another sign, {plural(shift.groups_silenced, 'group')} with "
        f"nothing left to learn from, {shift.groups_voiced:,} with something new",
    ]
    lines += [
        f"  episode {flip.episode} of group {flip.group}: {flip.before:+.3f} -> {flip.after:+.3f}"
        for flip in shift.flips[:5]
    ]
    return lines


def _cells(spread: Spread) -> list[str]:
    cells = [f"{spread.scored:,}", f"{spread.unscored:,}"]
    if spread.mean is None or spread.deviation is None or spread.success is None:
        return cells
    return [*cells, f"{spread.success:.3f}", *(f"{v:.4g}" for v in (spread.mean, spread.deviation, *spread.quantiles))]


def _to_json(one: Regraded) -> dict[str, Any]:
    return {
        "effect": one.priced.change.effect,
        "reasons": [msgspec.to_builtins(reason) for reason in one.priced.change.reasons],
        "episodes": episodes_json(one.priced),
        "shift": one.shift.to_json(),
        "overridden": one.overridden,
        "reduce_s": one.reduce_s,
        "regrade_s": one.regrade_s,
    }
