"""The `assay` command: one module per verb.

A verb's module has `DESCRIPTION`, `EPILOG`, `add_arguments(parser)` and `run(arguments, terminal) -> exit status`, and
is imported only when its verb is called.

Exit status: 0 done, 1 the thing checked is faulty, 2 wrong usage, 130 ended by Ctrl-C.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from assay import __version__
from assay.core.error import AssayError
from assay.core.name import suggestion
from assay.runtime.cli.terminal import Terminal

VERBS = {
    "train": "run a curriculum and train a policy on it",
    "eval": "score a run's checkpoint on held-out tasks",
    "try": "play one episode of a domain, step by step",
    "check": "check domains and curricula, with no model and no sandbox",
    "plan": "show the graph a run would execute, and what is proved about it",
    "test": "run a domain's examples through its compiled reward, and its controls through its verifiers",
    "diff": "say what an edit of a domain costs: reuse, reduce, regrade or rerun",
    "regrade": "grade a run's stored episodes under an edited domain",
    "review": "look at episodes of a run, mark them, and see how well its verifiers agree",
    "explain": "show why an episode's reward is what it is, or what a term is",
    "export": "write a run's checkpoint in another format",
    "fmt": "rewrite declared files in one style",
    "schema": "print a JSON Schema for editors",
    "init": "write a package with a domain of your own, which passes its own tests",
    "plugins": "list installed packages, what they offer and what failed to load",
    "doctor": "say what is missing on this machine, and the command that installs it",
    "completion": "print a script that completes all of this in bash, zsh or fish",
}
"""Verb -> one line; the verb's module has its name, or the one below where Python keeps that name for itself."""

_MODULES = {"eval": "evaluate", "try": "try_"}

_EPILOG = """\
examples:
  assay check quickstart.spell
  assay check curriculum=quickstart domain.spell.reward.outcome.correct='0.5*ans.equal'
  assay plan -m trainer.lr=3e-4,1e-3

`assay VERB --help` says more about one of them.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: Arguments without the program's name; None for those of this process.

    Returns:
        The exit status.
    """
    _open_streams()
    terminal = Terminal(sys.stdout, sys.stderr)
    try:
        status = _run(list(sys.argv[1:] if argv is None else argv), terminal)
        sys.stdout.flush()
        return status
    except AssayError as error:
        label = terminal.paint(f"error[{error.error_code}]", "error", err=True)
        terminal.complain(f"{label}: {error}")
        return 1
    except SystemExit as end:  # argparse ends a program after --help and after wrong usage
        return end.code if isinstance(end.code, int) else 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Python would complain once more on its last flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _open_streams() -> None:
    """Put the null device where a caller closed a standard stream, so that its number goes to no other file."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  stays open with the process


def verb_parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of a verb's own arguments."""
    verb = _module(name)
    parser = _parser(f"assay {name}", verb.DESCRIPTION, verb.EPILOG)
    verb.add_arguments(parser)
    return parser


def _module(name: str) -> Any:
    return import_module(f"assay.runtime.cli.{_MODULES.get(name, name)}")


def _run(argv: list[str], terminal: Terminal) -> int:
    if argv and argv[0] in VERBS:
        # Overrides and options in any order: `plan -m trainer.lr=1,2 --format json run.seed=3`.
        arguments = verb_parser(argv[0]).parse_intermixed_args(argv[1:])
        return int(_module(argv[0]).run(arguments, terminal))
    lines = "\n".join(f"  {name:<12}{line}" for name, line in VERBS.items())
    description = "Declare what counts as a good answer; check the declaration; train a policy on it."
    parser = _parser("assay", f"{description}\n\nverbs:\n{lines}", _EPILOG)
    parser.add_argument("--version", action="version", version=f"assay {__version__}")
    parser.usage = "assay VERB ..."
    if not argv:
        parser.print_help(sys.stderr)
        return 2
    parser.add_argument("verb", metavar="VERB", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    verb_name = parser.parse_args(argv).verb
    hint = suggestion(verb_name, VERBS)
    parser.error(f"unknown verb `{verb_name}`; {hint}")


def _parser(name: str, description: str, epilog: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog=name,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
