"""`assay check`: everything that can be known of declared domains and curricula without running them."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.core.error import ConfigError, PluginError
from assay.core.registry import Registry, installed
from assay.dsl.compile import Compiled
from assay.dsl.index import DomainIndex, Found, read_domain_file
from assay.dsl.program import Program
from assay.dsl.source.diagnostic import Finding, finding, sort_findings
from assay.dsl.source.mark import Mapping, Span
from assay.runtime.cli.job import count_text, print_findings, read_jobs
from assay.runtime.cli.terminal import Terminal, plural
from assay.runtime.config.job import compile_mix
from assay.runtime.review.question import check_people, people_of

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
    index = DomainIndex(registry)
    try:
        domains = [found for path in files if (found := _read(path, report)) is not None]
        domains += [index.find(name) for name in names] if arguments.what else index.all()
    except PluginError as error:
        return _misuse(terminal, str(error))
    for domain in domains:
        _check_domain(domain, registry, report)
    if overrides:
        _check_jobs(overrides, arguments.multirun, registry, report)
    report.findings = sort_findings(report.findings)
    if arguments.format == "json":
        terminal.print(json.dumps(to_json(report), indent=2))
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


def _read(path: str, report: Report) -> Found | None:
    try:
        return read_domain_file(Path(path), path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        report.findings.append(finding("YM005", Span(path, 1, 1, 1), f"a file must be readable, got {reason}"))
        return None


def _check_domain(domain: Found, registry: Registry, report: Report) -> None:
    tree = domain.rest if domain.tree is None else domain.tree
    if tree is not None and _is_curriculum(tree):
        mix = compile_mix(tree, (), registry, domain.base, lost=domain.lost)
        report.findings += [*domain.findings, *mix.findings]
        report.compiled += mix.compiled.domains.values()
        return
    compiled = domain.compile(registry)
    found = [] if compiled.program is None or tree is None else _unaskable(tree, compiled.program)
    report.findings += [*compiled.findings, *found]
    report.compiled += [] if found else [compiled]


def _unaskable(tree: Mapping, program: Program) -> list[Finding]:
    """Return the question to people that cannot be asked, if there is one."""
    if not people_of(program):
        return []
    verify = tree.get("verify")
    try:
        check_people(program, program.id)
    except ConfigError as error:
        name = (error.at or "").rpartition(".")[2]
        use = verify.get(name) if isinstance(verify, Mapping) else None
        where = use if use is not None else tree
        return [finding("CF001", where.span, f"{error.must}: {error.got}")]
    return []


def _is_curriculum(tree: Mapping) -> bool:
    """Whether a file holds a curriculum, also where only a part of it could be read."""
    return tree.get("domain") is None and any(tree.get(key) is not None for key in ("curriculum", "mix", "stages"))


def _check_jobs(texts: list[str], is_sweep: bool, registry: Registry, report: Report) -> None:
    jobs, findings = read_jobs(texts, is_sweep, registry)
    report.findings += findings
    for job in jobs:
        report.compiled += job.mix.compiled.domains.values() if job.mix is not None else ()


def _print(report: Report, terminal: Terminal) -> None:
    print_findings(report.findings, terminal)
    sound = [one.facts for one in report.compiled if one.facts is not None]
    for facts in sound:
        first, _, rest = facts.to_text().partition("\n")
        terminal.print(f"{terminal.paint(first, 'strong')}\n{rest}\n")
    terminal.print(f"{plural(len(sound), 'sound domain')}, {count_text(report.findings, terminal)}")


def _misuse(terminal: Terminal, message: str) -> int:
    terminal.complain(f"assay check: error: {message}")
    return 2
