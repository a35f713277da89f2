"""The launcher keeps the contract of launchers, and its processes have the priority they are given."""

import os
from pathlib import Path

import pytest
from assay_example_launcher import POLITE, polite

from assay.core.error import AssayError
from assay.core.launcher import Launch
from assay.runtime.testing.factory import run_code
from assay.testing import LauncherContract

TestPolite = LauncherContract.of(POLITE, options={"niceness": 5})

# In a process of its own: a launcher ends everything below the one it runs in.
SHOW = """
import os, sys
from pathlib import Path
from assay.core.launcher import Launch, ProcessSpec
from assay_example_launcher import polite
folder, core = Path(sys.argv[1]), sys.argv[2]
code = "import os; print(os.nice(0), sorted(os.sched_getaffinity(0)))"
argv = (sys.executable, "-S", "-c", code)
processes = [
    ProcessSpec(role, role, argv, dict(os.environ), folder / f"{role}.log") for role in ("coordinator", "source")
]
sys.exit(polite(Launch(folder, "", tuple(processes)), niceness=7, cores=core, roles=["coordinator"]).run())
"""


def test_processes_of_the_roles_are_nice_and_stay_on_their_cores(tmp_path: Path) -> None:
    cores = sorted(os.sched_getaffinity(0))
    done = run_code(SHOW, str(tmp_path), str(cores[0]))
    assert (0, b"") == (done.returncode, done.stderr)
    assert f"{os.nice(0) + 7} [{cores[0]}]\n" == (tmp_path / "coordinator.log").read_text()
    assert f"{os.nice(0)} {cores}\n" == (tmp_path / "source.log").read_text()


def test_what_is_no_niceness_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"niceness must lie in 0\.\.19, got 20 - at launcher.niceness"):
        polite(Launch(tmp_path, "", ()), niceness=20)
