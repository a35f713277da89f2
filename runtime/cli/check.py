"""`assay check`: everything that can be known of declared domains and curricula without running them."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.core.error import PluginError
from assay.core.registry import Registry, installed
from assay.dsl.compile import LOCAL, Compiled, compile_tree
from assay.dsl.source.diagnostic import Finding, render, sort_findings
from assay.runtime.cli.terminal import Terminal, plural
from assay.runtime.config.catalogue import Catalogue, DomainTree, read_file
from assay.runtime.config.job import compile_mix, prepare
from assay.runtime.config.override import read_overrides
from assay.runtime.config.sweep import expand

DESCRIPTION = """\
Compile domains and curricula and report everything that is wrong with them, in one pass. No model, no sandbox, no
verifier library. For each sound domain the proved facts are printed: ranges, margin, tier, cost, needs."""

EPILOG = """\
A word with `=` (or a leading `~`) is an override; overrides are applied to the curriculum, `quickstart` where none is
chosen, and to the domains of its mix. Without any word all installed domains are checked.

exit status: 0 sound; 1 an error (with --strict also a warning); 2 wrong usage

examples:
  assay check fix_bug.yaml docs.yaml
  assay check quickstart.spell --strict
  assay check curriculum=quickstart domain.spell.reward.outcome.correct='0.5*ans.equal'
  assay check --format json conf/domain/*.yaml
"""


class Report(msgspec.Struct):
    """What was found of everything that was asked for."""

    findings: list[Finding] = []
    compiled: list[Compiled] = []

    def add(self, compiled: Compiled) -> None:
        """Take in one domain."""
        self.compiled.append(compiled)
        self.findings += compiled.findings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("what", nargs="*", metavar="FILE|DOMAIN|OVERRIDE", help="files, ids of domains, overrides")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--strict", action="store_true", help="treat warnings as errors")
    parser.add_argument("-m", "--multirun", action="store_true", help="check every combination of values `a,b`")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Check and print."""
    registry = installed()
    report = Report()
    files, names, overrides = sort_words(arguments.what)
    if arguments.multirun and not overrides:
        return _misuse(terminal, "-m needs an override with several values, such as trainer.lr=1e-3,3e-4")
    catalogue = Catalogue(registry)
    try:
        domains = [read_file(Path(shown), shown, LOCAL) for shown in files]
        domains += [catalogue.find(name) for name in names] if arguments.what else catalogue.all()
    except PluginError as error:
        return _misuse(terminal, str(error))
    for domain in domains:
        _check_domain(domain, registry, report)
    if overrides:
        _check_job(overrides, arguments.multirun, registry, report)
    report.findings = sort_findings(report.findings)
    if arguments.format == "json":
        terminal.print(json.dumps(to_json(report), indent=2, ensure_ascii=False))
    else:
        _print(report, terminal)
    severities = {found.severity for found in report.findings}
    return int("error" in severities or (arguments.strict and "warning" in severities))


def sort_words(words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return files, names of domains, and overrides.

    A file is what exists or ends in `.yaml`; an override has `=` or begins with `~`.
    """
    files, names, overrides = [], [], []
    for word in words:
        if Path(word).exists() or (word.endswith((".yaml", ".yml")) and "=" not in word):
            files.append(word)
        elif "=" in word or word.startswith("~"):
            overrides.append(word)
        else:
            names.append(word)
    return files, names, overrides


def to_json(report: Report) -> dict[str, list[object]]:
    """Return what `--format json` prints."""
    return {
        "diagnostics": [found.to_json() for found in report.findings],
        "domains": [one.facts.to_json() for one in report.compiled if one.facts is not None],
    }


def _check_domain(domain: DomainTree, registry: Registry, report: Report) -> None:
    if domain.tree is None:
        report.findings += domain.findings
    elif domain.tree.get("curriculum") is not None and domain.tree.get("domain") is None:
        mix = compile_mix(domain.tree, (), registry)
        report.findings += [*domain.findings, *mix.findings]
        report.compiled += mix.entries.values()
    else:
        report.add(compile_tree(domain.tree, registry, domain.base, domain.dist, domain.findings))


def _check_job(texts: list[str], is_sweep: bool, registry: Registry, report: Report) -> None:
    overrides, findings = read_overrides(texts)
    report.findings += findings
    jobs = [overrides]
    if is_sweep:
        jobs, findings = expand(overrides)
        report.findings += findings
    for job in jobs:
        prepared = prepare(job, registry)
        report.findings += prepared.findings
        report.compiled += prepared.mix.entries.values() if prepared.mix is not None else ()


def _print(report: Report, terminal: Terminal) -> None:
    for found in report.findings:
        first, _, rest = render(found).partition("\n")
        label, mark, message = first.partition(": ")
        terminal.print(f"{terminal.paint(label, found.severity)}{mark}{message}\n{rest}\n")
    for one in report.compiled:
        if one.facts is not None:
            first, _, rest = one.facts.to_text().partition("\n")
            terminal.print(f"{terminal.paint(first, 'strong')}\n{rest}\n")
    errors = sum(found.severity == "error" for found in report.findings)
    warnings = len(report.findings) - errors
    counts = f"{plural(errors, 'error')}, {plural(warnings, 'warning')}"
    style = "error" if errors else "warning" if warnings else "good"
    sound = sum(one.facts is not None for one in report.compiled)
    terminal.print(f"{plural(sound, 'sound domain')}, {terminal.paint(counts, style)}")


def _misuse(terminal: Terminal, message: str) -> int:
    terminal.complain(f"assay check: error: {message}")
    return 2
