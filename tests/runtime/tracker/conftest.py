"""Run folders with a ledger that is written by hand, and trackers in processes of their own."""

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from assay.core.trajectory import WeightVersion
from assay.runtime.coordinator.instruction import Write
from assay.runtime.coordinator.ledger import Ledger
from assay.runtime.coordinator.record import log
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import FactoryPlan, RunPlan, write_plan

Book = Callable[..., None]


def commit(step: int, at_s: float, lineage: int = 0) -> Write:
    packed = WeightVersion(lineage, step).pack()
    return Write("commits", (packed, json.dumps({"loss": 1.0 / step}), b"", 0.1, 0.2, at_s))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run folder with three steps, three events and an evaluation."""
    found = RunFolder(tmp_path / "run")
    found.logs.mkdir(parents=True)
    ledger = Ledger(found.ledger, "plan")
    ledger.commit([log("worker_joined", "update-0", 0.5), commit(1, 1.0), commit(2, 2.0)])
    ledger.commit([log("starved", "spell: 1.0 % of episodes", 2.5), commit(3, 3.0)])
    groups = [Write("grp", (n, "spell", "eval", n, -1, "after", 1, 0, "evaluated", "", 0, -1)) for n in range(4)]
    episodes = []
    for n in range(4):
        episodes.append(Write("planned", (n, n, 0, 1, 0.5)))
        episodes.append(Write("rolled", (n, 3, b"", "{}", 2, 2, 1.0, 0)))
        episodes.append(Write("verdict", (n, float(n == 0), n == 0, "{}", "{}", 0.1, 2.0)))
        episodes.append(Write("state", ("evaluated", "", 0, n)))
    done = Write("evaluation", ("after", WeightVersion(0, 3).pack(), "done", 4.0))
    ledger.commit([*groups, *episodes, done, log("evaluated", "after at 0.3", 4.0)])
    ledger.close()
    return found


@pytest.fixture
def plan_of(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunPlan]:
    """Writes the plan of a run whose trackers are classes of `wrong_tracker`, or `jsonl`."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))

    def make(*names: str) -> RunPlan:
        module = {"jsonl": "assay.runtime.tracker.jsonl:JsonlTracker"}
        trackers = {
            name: FactoryPlan(f"assay-rl:{version('assay-rl')}:{module.get(name, f'wrong_tracker:{name}')}")
            for name in names
        }
        plan = RunPlan("tracked", 0, (), (), "policy", {}, {}, trackers=trackers)
        write_plan(folder.path, plan)
        return plan

    return make
