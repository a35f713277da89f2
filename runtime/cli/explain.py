"""`assay explain`: why a reward is what it is."""

import argparse
import json
from pathlib import Path
from typing import Any

import msgspec

from assay.core.error import ConfigError
from assay.core.registry import Registry, installed
from assay.dsl.reduce import functions_of
from assay.runtime.cli.terminal import Terminal, columns, plural
from assay.runtime.explain.episode import Explanation, explain_episode
from assay.runtime.explain.term import TermExplanation, explain_term
from assay.runtime.regrade.side import read_side, run_of
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.run.prepare import find_run

DESCRIPTION = """\
Explain the reward of one stored episode: signals, gates, a waterfall of terms, its siblings with their advantages, and
what the reward would have been had one signal been another. Or explain one term of a domain: its formula, proved range,
directions, and where each value comes from."""

EPILOG = """\
RUN EPISODE    a folder or name of a run (`latest` is the newest), and a number in its ledger
DOMAIN TERM    an installed domain, a file, REV:PATH or RUN:ENTRY, and a term (`outcome.solved` or `solved`), a gate
               (`gate.applies`), `when` or `success`

examples:
  assay explain latest 4711
  assay explain quickstart.spell correct
  assay explain fix_bug.yaml gate.applies --format json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("of", metavar="RUN|DOMAIN", help="see below")
    parser.add_argument("what", metavar="EPISODE|TERM", help="see below")
    parser.add_argument("--runs", default="runs", metavar="FOLDER", help="where runs are; default runs")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Explain and print."""
    registry = installed()
    if arguments.what.isdecimal():
        return _episode(arguments, registry, terminal)
    functions = functions_of([offer.value for offer in registry.of_kind("function")])
    side = read_side(arguments.of, Path(arguments.runs), registry)
    if len(side.programs) != 1:
        names = ", ".join(side.programs)
        raise ConfigError("a term must be one of one domain", got=names, at=arguments.of, todo="Write RUN:ENTRY")
    (program,) = side.programs.values()
    found = explain_term(program, arguments.what, registry, functions)
    if arguments.format == "json":
        terminal.print(json.dumps(msgspec.to_builtins(found), indent=2))
    else:
        _print_term(found, terminal)
    return 0


def _episode(arguments: argparse.Namespace, registry: Registry, terminal: Terminal) -> int:
    side = run_of(arguments.of, Path(arguments.runs))
    if side is None or side.run is None:
        find_run(arguments.of, Path(arguments.runs))  # says which runs there are
        raise ConfigError("an episode must be one of a run", got=arguments.of, todo="Write RUN EPISODE")
    functions = functions_of([offer.value for offer in registry.of_kind("function")])
    with StoredRun(side.run) as stored:
        found = explain_episode(stored, int(arguments.what), functions)
    if arguments.format == "json":
        plain = msgspec.to_builtins(found)
        for one, move in zip(plain["counterfactuals"], found.counterfactuals, strict=True):
            one["text"] = move.text
        terminal.print(json.dumps(plain, indent=2))
    else:
        _print_episode(found, terminal)
    return 0


def _print_episode(found: Explanation, terminal: Terminal) -> None:
    head = terminal.paint(f"episode {found.episode}", "strong")
    terminal.print(f"{head}  {found.domain}  {found.entry} {found.task}  {found.state}, weights {found.version or '-'}")
    for owner, signals in found.signals.items():
        values = "  ".join(f"{name}={_value(value)}" for name, value in signals.items())
        terminal.print(f"  {owner:<10} {values}")
    for asked in found.judges:
        calls = f"{plural(asked.calls, 'call')}, {asked.cached} cached" if asked.calls else "failed"
        waited = f", waited {asked.queue_s:.1f} s" if asked.queue_s >= 0.05 else ""
        terminal.print(f"  judge      {asked.verify}: {calls}, {asked.cost_usd:.4g} USD{waited}")
    for gate in found.gates:
        state = terminal.paint(gate.state, "warning") if gate.state == "closed" else gate.state
        pays = "" if gate.pays is None else f", pays {gate.pays:g}"
        terminal.print(f"  gate       {gate.name}: {gate.condition}  {state}{pays}")
    if found.terms:
        terminal.print("  waterfall")
        rows = [[one.name, f"{one.value:+.4g}", f"= {one.total:.4g}", one.formula] for one in found.terms]
        for text in columns(rows):
            terminal.print(f"    {text}")
    if found.reward is None:
        terminal.print(f"  {terminal.paint('no reward', 'error')}  {found.cause}")
    else:
        text = terminal.paint(f"{found.reward:g}", "good" if found.success else "warning")
        terminal.print(f"  reward     {text}  success {found.success}")
    if len(found.siblings) > 1:
        terminal.print("  siblings")
        ordered = sorted(found.siblings, key=lambda one: (one.reward is None, -(one.reward or 0.0), one.episode))
        rows = [["", "episode", "reward", "success", "advantage", ""]]
        for one in ordered:
            mark = ">" if one.episode == found.episode else ""
            reward = "-" if one.reward is None else f"{one.reward:.4g}"
            advantage = "-" if one.advantage is None else f"{one.advantage:+.3f}"
            rows.append([mark, str(one.episode), reward, _value(one.success), advantage, one.cause])
        for text in columns(rows):
            terminal.print(f"    {text}")
    if found.counterfactuals:
        terminal.print("  the reward would have been, with all else as it was,")
        for move in found.counterfactuals:
            terminal.print(f"    {move.text}")


def _print_term(found: TermExplanation, terminal: Terminal) -> None:
    terminal.print(f"{terminal.paint(found.name, 'strong')}  {found.domain}")
    terminal.print(f"  formula    {found.formula}")
    terminal.print(f"  range      {found.range}" + (f", pays {found.pays} where closed" if found.pays else ""))
    if found.under:
        terminal.print(f"  under      {' and '.join(found.under)}")
    for origin in found.origins:
        told = [origin.what, origin.kind, f"in {origin.unit}" if origin.unit else ""]
        told += [f"better {origin.better}" if origin.better not in ("", "neither") else ""]
        terminal.print(f"  {terminal.paint(origin.name, 'strong')}  {' '.join(one for one in told if one)}")
        for line in (f"the term {origin.direction} it" if origin.direction else "", origin.source, origin.doc):
            if line:
                terminal.print(f"    {line}")


def _value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4g}" if isinstance(value, float) else str(value)
