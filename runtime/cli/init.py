"""`assay init`: a package to begin with, which passes its own tests."""

import argparse
from pathlib import Path

from assay.core.error import ConfigError
from assay.core.registry import installed
from assay.dsl.index import DomainIndex
from assay.runtime.cli.terminal import Terminal
from assay.runtime.template.package import Package, read_name

DESCRIPTION = """\
Write a pip package that brings one domain: verifier, domain file with examples and controls, tests, CI script, README.
It passes its own tests as it is; then put your tasks and your verifier in. Nothing that exists is overwritten."""

EPILOG = """\
exit status: 0 written; 1 the folder exists or cannot be written, or the name is no good; 2 wrong usage

examples:
  assay init domain word_count
  assay init domain word_count --folder ../packages/words
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("kind", choices=("domain",), help="what the package brings")
    parser.add_argument("name", metavar="NAME", help="id of the domain, such as word_count")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="folder to make; default: assay-domain-NAME")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Write the package and say what comes next."""
    name = read_name(arguments.name)
    taken = [found for found in DomainIndex(installed()).all() if found.id == name]
    if taken:
        raise ConfigError("a new domain must have an id that no installed one has", got=name, at=taken[0].dist)
    package = Package(name, Path())
    package = Package(name, arguments.folder if arguments.folder is not None else Path(package.dist))
    for inside in package.write():
        terminal.print(f"{package.folder / inside}")
    terminal.print(
        f"\nnext:\n  cd {package.folder}\n  pip install --editable '.[test]' && pytest\n  assay test {name} --controls"
    )
    return 0
