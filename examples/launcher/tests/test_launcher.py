"""The launcher keeps the contract of launchers, and its processes have the priority they are given."""

import os
import sys
from pathlib import Path

import pytest
from assay_example_launcher import POLITE, polite

from assay.core.error import AssayError
from assay.core.launcher import Launch, ProcessSpec
from assay.testing import LauncherContract

TestPolite = LauncherContract.of(POLITE, options={"niceness": 5})

SHOW = "import os; print(os.nice(0), sorted(os.sched_getaffinity(0)))"


def test_processes_are_nice_and_stay_on_their_cores(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    command = (sys.executable, "-S", "-c", SHOW)
    one = ProcessSpec("coordinator", "coordinator", command, dict(os.environ), tmp_path / "log")
    launcher = polite(Launch(tmp_path, "", (one,)), niceness=7, cores=str(core))
    child = launcher._children[0]
    os.close(child.start())
    assert 0 == child.note_end()
    assert f"{os.nice(0) + 7} [{core}]\n" == (tmp_path / "log").read_text()


def test_what_is_no_niceness_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"niceness must lie in 0\.\.19, got 20 - at launcher.niceness"):
        polite(Launch(tmp_path, "", ()), niceness=20)
