"""What a launcher is given, and which launcher it is."""

import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

from assay.core.launcher import Launch
from assay.runtime.launch.local import LocalLauncher
from assay.runtime.launch.process import launch_of
from assay.runtime.launch.run import make_launcher
from assay.runtime.run.environment import LAUNCHER_PID, WEIGHTS_FOLDER
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import Counts, RunPlan


class Chosen:
    """A launcher of a package."""

    def __init__(self, launch: Launch, *, depth: int = 0) -> None:
        self.launch = launch
        self.depth = depth


@pytest.fixture
def plan_of() -> Callable[..., RunPlan]:
    def make(options: dict[str, object] | None = None, ref: str | None = None) -> RunPlan:
        settings = {"launcher": {"name": "any", "options": options or {}}}
        factories = {} if ref is None else {"launcher": ref}
        return RunPlan("plan", 0, (), (), "policy", settings, factories, Counts(rollout=2, update=2, threads=3))

    return make


def test_processes_are_those_of_the_plan_with_the_coordinator_first(
    tmp_path: Path, plan_of: Callable[..., RunPlan]
) -> None:
    launch = launch_of(plan_of(), RunFolder(tmp_path), tmp_path / "weights")
    names = ["coordinator", "update-0", "update-1", "rollout-0", "rollout-1", "source-0", "verify-0"]
    assert names == [one.name for one in launch.processes]
    assert names == [one.log.stem for one in launch.processes]
    one = launch.processes[3]
    assert ("rollout", "rollout-0", str(tmp_path)) == one.argv[-3:]
    assert str(tmp_path / "weights") == one.environ[WEIGHTS_FOLDER]
    assert {"OMP_NUM_THREADS", LAUNCHER_PID} <= set(one.environ)
    assert "3" == one.environ["OMP_NUM_THREADS"]


def test_launcher_is_the_one_of_the_plan_with_its_options(
    tmp_path: Path, plan_of: Callable[..., RunPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = Launch(tmp_path, "ipc://x", ())
    assert isinstance(make_launcher(plan_of(), launch), LocalLauncher)
    # Found as a process finds it: by the name of a module.
    monkeypatch.setitem(sys.modules, "chosen_launcher", ModuleType("chosen_launcher"))
    monkeypatch.setattr("chosen_launcher.Chosen", Chosen, raising=False)
    made = make_launcher(plan_of({"depth": 2}, f"assay-rl:{version('assay-rl')}:chosen_launcher:Chosen"), launch)
    assert isinstance(made, Chosen)
    assert (launch, 2) == (made.launch, made.depth)
