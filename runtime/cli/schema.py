"""`assay schema`: what editors need to complete and check declared files."""

import argparse
import json

from assay.core.registry import installed
from assay.dsl.edition import CURRICULUM, DOMAIN
from assay.dsl.jsonschema import json_schema
from assay.runtime.cli.terminal import Terminal

DESCRIPTION = """\
Print the JSON Schema (draft 2020-12) of domain files or curriculum files, with the names that installed packages offer.
`assay check` knows more: a schema cannot tell types, units and signs of expressions."""

EPILOG = """\
examples:
  assay schema domain > domain.schema.json
  # first line of a domain file, for editors with the YAML language server:
  # yaml-language-server: $schema=domain.schema.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("kind", choices=("domain", "curriculum"), help="which kind of file")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Print the schema."""
    shape = DOMAIN if arguments.kind == "domain" else CURRICULUM
    terminal.print(json.dumps(json_schema(shape, installed()), indent=2))
    return 0
