"""`assay diff`: what an edit of a domain costs."""

import argparse
import json
import math
from pathlib import Path
from typing import Any, get_args

import msgspec

from assay.core.error import ConfigError
from assay.core.registry import Registry, installed
from assay.dsl.change import Change, Effect, classify
from assay.dsl.program import Program
from assay.dsl.reduce import functions_of
from assay.runtime.cli.terminal import Terminal, columns, plural
from assay.runtime.regrade.regrade import Priced, price
from assay.runtime.regrade.side import Pair, Side, pairs, read_side
from assay.runtime.regrade.stored import StoredRun

DESCRIPTION = """\
Say what an edit of a domain costs, with the reason: REUSE (stored verdicts stand), REDUCE (arithmetic over stored
signals), REGRADE (a verifier has to run), RERUN (episodes would have to be played again). Where a side is a run, its
stored episodes are counted one by one."""

EPILOG = """\
a side is
  FILE        a domain file, or a curriculum
  REV:PATH    a file as it was in a revision of git
  RUN         the programs a run stored, by folder or by name; `latest` is the newest
  RUN:ENTRY   one of them
  ID          an installed domain

exit status: 0 compared; 1 a side does not compile; 2 wrong usage

examples:
  assay diff HEAD:fix_bug.yaml fix_bug.yaml
  assay diff latest:spell spell.yaml
  assay diff latest conf/curriculum/quickstart.yaml --format json
"""

STYLES: dict[Effect, str] = {"REUSE": "good", "REDUCE": "good", "REGRADE": "warning", "RERUN": "error"}


class Line(msgspec.Struct, frozen=True):
    """One domain compared.

    Attributes:
        pair: Both programs.
        change: From the first to the second.
        priced: Stored episodes under the side that is not their run; None where no side is a run.
        most_s: Seconds that regrading takes at most, by what verifiers declare.
    """

    pair: Pair
    change: Change
    priced: Priced | None
    most_s: float = 0.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("before", metavar="A", help="see below")
    parser.add_argument("after", metavar="B", help="see below")
    parser.add_argument("--runs", default="runs", metavar="FOLDER", help="where runs are; default runs")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Compare and print."""
    registry = installed()
    before, after = (read_side(word, Path(arguments.runs), registry) for word in (arguments.before, arguments.after))
    found, gone, new = pairs(before, after)
    if not found:
        raise ConfigError(
            "two sides must have a domain in common",
            got=f"{', '.join(before.programs)} and {', '.join(after.programs)}",
        )
    functions = functions_of([offer.value for offer in registry.of_kind("function")])
    lines = []
    stored = before if before.run is not None else after
    if stored.run is None:
        lines = [Line(pair, classify(pair.before, pair.after), None) for pair in found]
    else:
        with StoredRun(stored.run) as opened:
            for pair in found:
                is_first = stored is before
                name, edited = (pair.before_name, pair.after) if is_first else (pair.after_name, pair.before)
                priced = price(opened, name, edited, functions)
                most_s = priced.episodes.get("REGRADE", 0) * verify_cost_s(edited, registry)
                lines.append(Line(pair, classify(pair.before, pair.after), priced, most_s))
    if arguments.format == "json":
        terminal.print(json.dumps(_to_json(before, after, lines, gone, new), indent=2))
    else:
        _print(before, after, lines, gone, new, terminal)
    return 0


def verify_cost_s(program: Program, registry: Registry) -> float:
    """Return the declared seconds of one verification with every gate open; verifiers not installed count nothing."""
    leaves = {verify.use.leaf for verify in program.verify.values()} & set(registry.names("verifier"))
    return math.fsum(registry.find("verifier", leaf).value.cost_s for leaf in sorted(leaves))


def counts_text(priced: Priced) -> str:
    """Return `1,024 episodes: 1,000 REDUCE, 24 REGRADE`."""
    total = sum(priced.episodes.values())
    parts = [f"{priced.episodes[effect]:,} {effect}" for effect in get_args(Effect) if priced.episodes.get(effect)]
    text = f"{total:,} stored {'episode' if total == 1 else 'episodes'}: {', '.join(parts) or 'none'}"
    return f"{text}; {priced.waiting:,} without a verdict" if priced.waiting else text


def reason_lines(change: Change) -> list[str]:
    """Return the reasons as lines, the dearest first."""
    order = get_args(Effect)
    reasons = sorted(change.reasons, key=lambda reason: -order.index(reason.effect))
    return columns([[reason.effect, reason.part, reason.text] for reason in reasons])


def _print(before: Side, after: Side, lines: list[Line], gone: list[str], new: list[str], terminal: Terminal) -> None:
    for line in lines:
        effect = line.change.effect
        head = f"{terminal.paint(effect, STYLES[effect])}  {terminal.paint(line.pair.name, 'strong')}"
        terminal.print(head if line.change.reasons else f"{head}  nothing differs")
        for text in reason_lines(line.change):
            terminal.print(f"  {text}")
        if line.priced is not None:
            of = before if before.run is not None else after
            most = f"; at most about {line.most_s:.3g} s of verifying" if line.most_s else ""
            terminal.print(f"  {of.word}: {counts_text(line.priced)}{most}")
    for word, names in ((before.word, gone), (after.word, new)):
        if names:
            terminal.print(f"only in {word}: {', '.join(names)}")
    if len(lines) > 1:
        told = [f"{sum(x.change.effect == e for x in lines)} {e}" for e in get_args(Effect)]
        terminal.print(f"{plural(len(lines), 'domain')}: {', '.join(one for one in told if not one.startswith('0 '))}")


def _to_json(before: Side, after: Side, lines: list[Line], gone: list[str], new: list[str]) -> dict[str, Any]:
    return {
        "before": before.word,
        "after": after.word,
        "domains": [
            {
                "name": line.pair.name,
                "before": {"identity": line.change.before, "digest": line.pair.before.digest},
                "after": {"identity": line.change.after, "digest": line.pair.after.digest},
                "effect": line.change.effect,
                "reasons": [msgspec.to_builtins(reason) for reason in line.change.reasons],
                "episodes": None if line.priced is None else episodes_json(line.priced),
                "verify_s": line.most_s,
            }
            for line in lines
        ],
        "only_before": gone,
        "only_after": new,
    }


def episodes_json(priced: Priced) -> dict[str, int]:
    """Return counts by effect, zeros included, and of episodes without a verdict."""
    counts = {effect: priced.episodes.get(effect, 0) for effect in get_args(Effect)}
    return {**counts, "without_verdict": priced.waiting}
