"""`assay plugins`: who offers what, and what did not load."""

import argparse
import json
from typing import Any

from assay.core.hook import NAMED
from assay.core.registry import Registry, installed
from assay.runtime.cli.terminal import Terminal, columns, plural

DESCRIPTION = """\
List the installed packages that speak to Assay, what each offers under which hook, what failed to load and which names
are offered twice. Nothing here is fatal by itself: a run fails only where it uses what is missing (PL001)."""

EPILOG = """\
examples:
  assay plugins
  assay plugins --verbose        # with tracebacks
  assay plugins --format json
"""

_HOOKS = {kind: hook for hook, kind in NAMED.items()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--verbose", action="store_true", help="show where a package failed")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Print what is installed."""
    registry = installed()
    if arguments.format == "json":
        terminal.print(json.dumps(describe(registry), indent=2))
        return 0
    for dist, version in registry.plugins.items():
        terminal.print(terminal.paint(f"{dist} {version}", "strong"))
        lines = columns([(f"  {_HOOKS[kind]}", ", ".join(names)) for kind, names in offers(registry, dist).items()])
        terminal.print("\n".join(lines) if lines else "  offers nothing")
    for failure in registry.failures:
        label = terminal.paint("error[PL001]", "error")
        terminal.print(f"{label}: {failure.dist} {failure.version}: {failure.what} must load, got {failure.reason}")
        if arguments.verbose and failure.story:
            terminal.print("\n".join(f"    {line}" for line in failure.story.rstrip().splitlines()))
    for clash in registry.clashes():
        label = terminal.paint("error[PL001]", "error")
        owners = " and ".join(f"{offer.dist} {offer.version}" for offer in clash)
        terminal.print(f"{label}: {clash[0].kind} `{clash[0].name}` must be offered once, got {owners}")
    terminal.print(
        f"{plural(len(registry.plugins), 'package')}, {plural(len(registry.offers), 'offer')}, "
        f"{plural(len(registry.failures), 'failure')}, {plural(len(registry.clashes()), 'clash', 'es')}"
    )
    return 0


def describe(registry: Registry) -> dict[str, Any]:
    """Return what `--format json` prints."""
    return {
        "packages": [
            {"dist": dist, "version": version, "offers": offers(registry, dist)}
            for dist, version in registry.plugins.items()
        ],
        "failures": [
            {"code": "PL001", "dist": failure.dist, "version": failure.version, "what": failure.what,
             "reason": failure.reason, "story": failure.story}
            for failure in registry.failures
        ],
        "clashes": [
            {"code": "PL001", "kind": clash[0].kind, "name": clash[0].name,
             "offered_by": [{"dist": offer.dist, "version": offer.version} for offer in clash]}
            for clash in registry.clashes()
        ],
    }  # fmt: skip


def offers(registry: Registry, dist: str) -> dict[str, list[str]]:
    """Return the names that a distribution offers, by kind."""
    names: dict[str, list[str]] = {}
    for offer in registry.offers:
        if offer.dist == dist:
            names.setdefault(offer.kind, []).append(offer.name)
    return names
