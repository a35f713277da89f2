"""`assay schema`: what editors need to complete and check declared files."""

import argparse
import json
from pathlib import Path

from assay.core.registry import installed
from assay.dsl.edition import CURRICULUM, DOMAIN
from assay.dsl.jsonschema import json_schema, names_in
from assay.dsl.source.loader import load
from assay.runtime.cli.terminal import Terminal

DESCRIPTION = """\
Print the JSON Schema (draft 2020-12) of domain files or curriculum files, with the names that installed packages offer.
Given a file, it also holds what that file's expressions may name: its signals, fields and params, or its mix entries.
`assay check` knows more: a schema cannot tell types, units and signs of expressions."""

EPILOG = """\
examples:
  assay schema domain > domain.schema.json
  assay schema domain fix_bug.yaml > fix_bug.schema.json
  # first line of a domain file, for editors with the YAML language server:
  # yaml-language-server: $schema=domain.schema.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("kind", choices=("domain", "curriculum"), help="which kind of file")
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="whose names expressions may use")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Print the schema; a file that is no YAML yet adds nothing to it."""
    shape = DOMAIN if arguments.kind == "domain" else CURRICULUM
    names = None
    if arguments.file is not None:
        try:
            tree = load(arguments.file.read_bytes(), str(arguments.file)).tree
        except OSError as error:
            terminal.complain(f"assay schema: error: {arguments.file}: {error.strerror}")
            return 2
        names = None if tree is None else names_in(tree, shape, installed())
    terminal.print(json.dumps(json_schema(shape, installed(), names), indent=2))
    return 0
