"""The coordinator and workers as real processes on a real socket, killed and stopped."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.runtime.coordinator.ledger import read_only
from assay.runtime.coordinator.status import figures

pytestmark = pytest.mark.slow
STAGE = Path(__file__).with_name("fake_stage.py")
ROLES = ("source", "rollout", "verify", "update")


class Processes:
    """Starts, kills and restarts the processes of one run."""

    def __init__(self, run_folder: Path, work_s: float = 0.003) -> None:
        self.run_folder, self.work_s = run_folder, work_s
        self.by_role: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *roles: str, **environment: str) -> None:
        for role in roles:
            out, err = self.run_folder / f"{role}.out", self.run_folder / f"{role}.err"
            with out.open("w") as output, err.open("a") as errors:
                self.by_role[role] = subprocess.Popen(
                    [sys.executable, str(STAGE), role, str(self.run_folder), str(self.work_s)],
                    stdout=output,
                    stderr=errors,
                    env={**os.environ, **environment},
                )

    def kill(self, role: str) -> None:
        self.by_role[role].kill()
        self.by_role[role].wait()

    def wait(self, role: str, timeout_s: float = 60.0) -> tuple[int, str]:
        code = self.by_role[role].wait(timeout_s)
        return code, (self.run_folder / f"{role}.out").read_text().strip()

    def ledger(self) -> sqlite3.Connection:
        return read_only(self.run_folder / "ledger.sqlite")

    def count(self, sql: str) -> int:
        db = self.ledger()
        try:
            return int(db.execute(sql).fetchone()[0] or 0)
        finally:
            db.close()

    def until(self, is_reached: Callable[[], bool], timeout_s: float = 40.0) -> None:
        end_s = time.monotonic() + timeout_s
        while time.monotonic() < end_s:
            try:
                if is_reached():
                    return
            except Exception:
                pass
            time.sleep(0.01)
        raise AssertionError(f"not reached; {self.errors()}")

    def errors(self) -> str:
        return "\n".join(path.read_text()[-2000:] for path in self.run_folder.glob("*.err"))

    def close(self) -> None:
        for process in self.by_role.values():
            if process.poll() is None:
                process.kill()
            process.wait()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path)
    yield started
    started.close()


def check(processes: Processes, num_steps: int = 11) -> None:
    db = processes.ledger()
    told = figures(db)
    episodes = told["episodes"]
    assert 0 == episodes["in_flight"]
    dropped = sum(episodes["dropped"].values())
    assert episodes["submitted"] == episodes["trained"] + episodes["evaluated"] + dropped
    assert num_steps == told["updates"]
    batches: dict[str, str] = {}
    for line in (processes.run_folder / "trained.log").read_text().splitlines():
        _, step, given = line.split(" ", 2)
        assert batches.setdefault(step, given) == given
    trained = Counter(number for given in batches.values() for number in given.strip("[]").split(", ") if number)
    assert set(trained.values()) == {1}
    assert len(trained) == episodes["trained"]
    assert {"a": 4, "b": 4} == {name: item["scored"] for name, item in told["evaluations"]["after"].items()}
    db.close()


def test_run_of_processes_finishes(processes: Processes) -> None:
    processes.start("coordinator", *ROLES)
    assert (0, "0 finished") == processes.wait("coordinator"), processes.errors()
    assert [0, 0, 0, 0] == [processes.wait(role)[0] for role in ROLES]
    check(processes)


@pytest.mark.parametrize("role", ["source", "rollout", "verify", "update", "coordinator"])
def test_killed_process_loses_nothing_and_doubles_nothing(processes: Processes, role: str) -> None:
    processes.start("coordinator", *ROLES)
    for commits in (1, 4, 7):
        processes.until(lambda n=commits: processes.count("SELECT COUNT(*) FROM commits") >= n)
        processes.kill(role)
        processes.start(role)
    assert (0, "0 finished") == processes.wait("coordinator"), processes.errors()
    check(processes)
    lineages = processes.count("SELECT COUNT(*) FROM log WHERE what = 'lineage'")
    assert (4 if role == "update" else 1) == lineages


def test_coordinator_stopped_for_ten_leases_runs_nothing_again(processes: Processes) -> None:
    processes.work_s = 0.05
    processes.start("coordinator", *ROLES, SLOW_S="5")
    processes.until(lambda: processes.count("SELECT COUNT(*) FROM commits") >= 4)
    for role in ("rollout", "verify"):
        (processes.run_folder / f"slow-{role}").touch()
        processes.until((processes.run_folder / f"slow-{role}-begun").exists)
    coordinator = processes.by_role["coordinator"]
    coordinator.send_signal(signal.SIGSTOP)
    # Ten leases of three heartbeats of 0.1 s, in which each worker is busy with one item.
    time.sleep(3.0)
    coordinator.send_signal(signal.SIGCONT)
    assert (0, "0 finished") == processes.wait("coordinator"), processes.errors()
    check(processes)
    worked = Counter((processes.run_folder / "worked.log").read_text().splitlines())
    again = {what: n for what, n in worked.items() if n > 1 and not what.startswith("LeaseTasks")}
    assert {} == again


def test_sigint_drains_and_the_run_goes_on_from_its_ledger(processes: Processes) -> None:
    processes.start("coordinator", *ROLES, STEPS="8")
    processes.until(lambda: processes.count("SELECT COUNT(*) FROM commits") >= 5)
    processes.by_role["coordinator"].send_signal(signal.SIGINT)
    assert (130, "130 drained") == processes.wait("coordinator"), processes.errors()
    assert [0, 0, 0, 0] == [processes.wait(role)[0] for role in ROLES]
    assert 0 < processes.count("SELECT COUNT(*) FROM commits") < 11
    processes.start("coordinator", *ROLES)
    assert (0, "0 finished") == processes.wait("coordinator"), processes.errors()
    check(processes)


def test_second_coordinator_of_a_run_is_refused(processes: Processes) -> None:
    processes.start("coordinator")
    processes.until((processes.run_folder / "status.json").exists)
    first = processes.by_role["coordinator"]
    processes.start("coordinator")
    code, _ = processes.wait("coordinator")
    assert 1 == code
    assert "the coordinator's socket must not be in use" in processes.errors()
    assert first.poll() is None
    first.kill()
    first.wait()


def test_worker_of_another_plan_is_refused(processes: Processes) -> None:
    processes.start("coordinator")
    processes.start("verify", PLAN="other")
    code, _ = processes.wait("verify")
    assert 1 == code
    assert "a worker must belong to the run, got this run's plan is fake" in processes.errors()
