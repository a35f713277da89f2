"""`assay completion`: a script for the shell."""

import argparse

from assay.core.registry import installed
from assay.runtime.cli.terminal import Terminal

DESCRIPTION = """\
Print a script that completes verbs, options, domain ids, config groups and keys, runs and files. It holds the names
that are installed now; print it again after a package came or went."""

EPILOG = """\
examples:
  source <(assay completion bash)                                    # in ~/.bashrc
  source <(assay completion zsh)                                     # in ~/.zshrc, after compinit
  assay completion fish > ~/.config/fish/completions/assay.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="whose")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Print the script."""
    from assay.runtime.cli import VERBS, verb_parser
    from assay.runtime.completion import bash, fish, zsh
    from assay.runtime.completion.vocabulary import read_vocabulary

    scripts = {"bash": bash.bash_script, "zsh": zsh.zsh_script, "fish": fish.fish_script}
    vocabulary = read_vocabulary({name: verb_parser(name) for name in VERBS}, VERBS, installed())
    terminal.print(scripts[arguments.shell](vocabulary).rstrip("\n"))
    return 0
