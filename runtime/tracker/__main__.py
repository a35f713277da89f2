"""Starts the process of one tracker: `python -m assay.runtime.tracker <name> <run folder>`.

It ends with the command that started it; the word `over` on standard input says that the run is over.
"""

import argparse
import contextlib
import os
import select
import sys
from pathlib import Path

from assay.core.error import AssayError
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import read_plan
from assay.runtime.stage.__main__ import die_with_parent
from assay.runtime.tracker.follow import follow

OVER = b"over\n"
# Behind everything that the run itself does.
_NICENESS = 10


def main(argv: list[str] | None = None) -> int:
    """Follow the run until it is over; returns the exit status."""
    parser = argparse.ArgumentParser(prog="assay.runtime.tracker")
    parser.add_argument("name")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args(argv)
    die_with_parent()
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    folder = RunFolder(arguments.folder.resolve())
    try:
        plan = read_plan(folder.path)
        follow(plan.trackers[arguments.name].make(), arguments.name, plan, folder, wait_over)
    except AssayError as error:
        print(f"error[{error.error_code}]: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def wait_over(seconds: float) -> bool:
    """Wait; whether the run is over. Ends the process where the command is gone."""
    if not select.select([0], [], [], seconds)[0]:
        return False
    if os.read(0, len(OVER)) != OVER:
        sys.exit(1)
    return True


if __name__ == "__main__":
    sys.exit(main())
