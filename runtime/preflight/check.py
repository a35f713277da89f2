"""One thing that a machine or an installation has, or lacks."""

import os
import shlex
import sys
from pathlib import Path
from typing import Literal

import msgspec

State = Literal["ok", "warn", "fail"]


class Check(msgspec.Struct, frozen=True):
    """What was found.

    Attributes:
        name: Of the thing, such as `torch`.
        state: `warn` where only some runs need it, `fail` where every run does.
        found: What is there, or what is wrong, in one line.
        fix: Command that installs or mends it; empty where nothing is wrong.
    """

    name: str
    state: State
    found: str
    fix: str = ""


def pip(*words: str) -> str:
    """Return a pip command line for this very environment."""
    python = Path(sys.executable)
    here = Path.cwd()
    shown = os.path.relpath(python, here) if python.is_relative_to(here) else str(python)
    return shlex.join([shown, "-m", "pip", *words])
