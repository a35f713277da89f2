"""The contract of a launcher: everything starts, what dies comes back, and nothing is left behind.

The launcher is given small programs instead of the stages of a run, in a process of its own, because it may become the
parent of whatever is orphaned below it, and end that.
"""

import contextlib
import json
import os
import pkgutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import msgspec

from assay.core.error import RunFailed
from assay.core.launcher import Launch, Launcher, ProcessSpec
from assay.core.leaf import Factory
from assay.runtime.testing.factory import FactoryContract, run_code

# What every program begins with: it notes its life, and knows how to wait.
_HEAD = """
import os, signal, subprocess, sys, time
name = os.environ["NAME"]
def lives(of):
    return open(of + ".lives").read().split() if os.path.exists(of + ".lives") else []
def wait(holds):
    deadline = time.monotonic() + 30
    while not holds() and not os.path.exists("over"):
        if time.monotonic() > deadline:
            sys.exit(9)
        time.sleep(0.01)
os.chdir(os.environ["FOLDER"])
def note(what="lives", text=str(os.getpid())):
    with open(f"{name}.{what}", "a") as file:
        file.write(text + " ")
note()
print("said by", name, flush=True)
life = len(lives(name))
"""
_OVER = 'open("over", "w").close()\n'
_WORKER = "wait(lambda: False)\n"


class Report(msgspec.Struct, frozen=True):
    """What came of a launch.

    Attributes:
        status: What `run` returned; None where it raised.
        error: What it raised.
        ticks: Calls of `tick`.
    """

    status: int | None = None
    error: str = ""
    ticks: int = 0


class LauncherContract(FactoryContract):
    """What holds of a launcher.

    Attributes:
        launcher: Its factory, called as `factory(launch, **options)`.
        limit_s: Until any launch here must be over.
    """

    kind = "launcher"
    launcher: ClassVar[Factory]
    limit_s: ClassVar[float] = 60.0

    def test_every_process_runs_as_it_is_specified(self) -> None:
        """Its command with its arguments and its environment, its output in its log, and `tick` is called."""
        folder = self.new_folder()
        everybody = ["coordinator", "update-0", "rollout-0", "source-0", "verify-0"]
        body = f"note('argv', sys.argv[1])\nwait(lambda: all(lives(one) for one in {everybody}))\n"
        programs = {name: body + _WORKER for name in everybody[1:]}
        programs["coordinator"] = body + "time.sleep(0.7)\n" + _OVER
        report = self._launch(folder, programs)
        self._require_status(report, 0)
        for name in everybody:
            argument = _read(folder / f"{name}.argv")
            self.require(argument == [f"of-{name}"], "a process must get its arguments", got=f"{name}: {argument}")
            log = (folder / f"{name}.log").read_text()
            self.require(f"said by {name}" in log, "a process must write into its log", got=log)
        self.require(report.ticks > 0, "tick must be called while the run goes on", got=report.ticks)

    def test_the_status_of_the_coordinator_is_that_of_the_run(self) -> None:
        """Whatever it is."""
        report = self._launch(self.new_folder(), {"coordinator": _OVER + "sys.exit(3)", "verify-0": _WORKER})
        self._require_status(report, 3)

    def test_what_dies_is_started_again(self) -> None:
        """A worker that fails, one that is killed, and a coordinator that is killed; the others live on."""
        folder = self.new_folder()
        fails = "wait(lambda: lives('verify-0'))\nif life == 1: sys.exit(1)\n" + _WORKER
        killed = "wait(lambda: lives('verify-0'))\nif life == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        # A moment more, so that a second life of what did not die would be noted.
        ends = "wait(lambda: len(lives('source-0')) == len(lives('rollout-0')) == 2)\ntime.sleep(0.3)\n" + _OVER
        programs = {"coordinator": killed + ends, "rollout-0": fails, "source-0": killed + _WORKER, "verify-0": _WORKER}
        self._require_status(self._launch(folder, programs), 0)
        found = {name: len(_read(folder / f"{name}.lives")) for name in programs}
        expected = {"coordinator": 2, "rollout-0": 2, "source-0": 2, "verify-0": 1}
        self.require(found == expected, f"what dies, and nothing else, must be started again: {expected}", got=found)

    def test_a_process_that_never_lives_ends_the_run(self) -> None:
        """RunFailed, whose words name the process; nobody waits for ever."""
        folder = self.new_folder()
        report = self._launch(folder, {"coordinator": _WORKER, "rollout-0": "print('no engine')\nsys.exit(1)"})
        self.require(
            report.error.startswith("RunFailed") and "rollout-0" in report.error,
            "a process that ends again and again must end the run with RunFailed",
            got=report.error or f"status {report.status}",
        )

    def test_ranks_are_given_their_group_and_start_again_together(self) -> None:
        """RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; one that dies takes the other with it."""
        folder = self.new_folder()
        names = ("update-0", "update-1")
        body = "note('group', ','.join(os.environ[k] for k in ('RANK', 'WORLD_SIZE', 'MASTER_ADDR', 'MASTER_PORT')))\n"
        both = f"wait(lambda: all(len(lives(one)) >= life for one in {names}))\n"
        programs = {
            "coordinator": f"wait(lambda: all(len(lives(one)) == 2 for one in {names}))\ntime.sleep(0.1)\n" + _OVER,
            "update-0": body + both + _WORKER,
            "update-1": body + both + "if life == 1: sys.exit(1)\n" + _WORKER,
        }
        self._require_status(self._launch(folder, programs), 0)
        groups = [[one.split(",") for one in _read(folder / f"{name}.group")] for name in names]
        for life, (first, second) in enumerate(zip(*groups, strict=True)):
            self.require(
                (first[0], second[0], first[1], second[1]) == ("0", "1", "2", "2") and first[2:] == second[2:],
                "ranks must be numbered from 0 and be given one address",
                got=f"life {life + 1}: {first}, {second}",
            )

    def test_a_drain_is_the_coordinators_to_decide(self) -> None:
        """`drain` asks the coordinator by SIGTERM, and nobody else; twice is as once."""
        folder = self.new_folder()
        coordinator = (
            "asked = []\nsignal.signal(signal.SIGTERM, lambda *_: (asked.append(1), note('asked')))\n"
            "wait(lambda: os.path.exists('listening'))\n"
            "open('ready', 'w').close()\nwait(lambda: asked)\ntime.sleep(0.3)\n" + _OVER + "sys.exit(130)"
        )
        # A worker that has no handler yet would die of what it must not be sent.
        listening = "signal.signal(signal.SIGTERM, lambda *_: note('asked'))\nopen('listening', 'w').close()\n"
        worker = listening + _WORKER
        report = self._launch(folder, {"coordinator": coordinator, "verify-0": worker}, "drain")
        self._require_status(report, 130)
        asked = {name: len(_read(folder / f"{name}.asked")) for name in ("coordinator", "verify-0")}
        self.require(asked == {"coordinator": 1, "verify-0": 0}, "a drain must ask the coordinator, once", got=asked)

    def test_nothing_is_left_behind(self) -> None:
        """A worker's own child hides in another session: after `run` it is gone like everything else."""
        folder = self.new_folder()
        report = self._launch(folder, _hiding(_OVER, _WORKER))
        self._require_status(report, 0)
        self._require_gone(folder)

    def test_nothing_is_left_behind_where_the_run_is_ended_at_once(self) -> None:
        """Where `tick` raises, as at a second Ctrl-C, a worker that ignores its end goes too; `end` is called twice."""
        folder = self.new_folder()
        stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"
        report = self._launch(folder, _hiding("open('ready', 'w').close()\n" + _WORKER, stubborn), "interrupt")
        interrupted = report.error.startswith("KeyboardInterrupt")
        self.require(interrupted, "what tick raises must end the run", got=report.error or report.status)
        self._require_gone(folder)

    def _launch(self, folder: Path, programs: Mapping[str, str], what: str = "") -> Report:
        code = "import sys; from assay.runtime.testing.launcher import launch; launch(*sys.argv[1:])"
        words = (self.plugin.object_name, json.dumps(dict(self.options)), str(folder), json.dumps(dict(programs)), what)
        started_s = time.monotonic()
        done = run_code(code, *words, limit_s=self.limit_s)
        try:
            return msgspec.json.decode((folder / "report.json").read_bytes(), type=Report)
        except OSError:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            took_s = time.monotonic() - started_s
            self.broken("a launcher must return or raise", got=f"{lines[-1:]} after {took_s:.1f} s")

    def _require_status(self, report: Report, status: int) -> None:
        self.require(
            report.status == status, f"run must return the coordinator's {status}", got=report.error or report.status
        )

    def _require_gone(self, folder: Path) -> None:
        pids = [int(pid) for path in folder.glob("*.lives") for pid in _read(path)]
        living = [pid for pid in pids if _is_alive(pid)]
        for pid in living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        self.require(len(pids) >= 3, "the programs must have run", got=pids)
        self.require(not living, "no process of a run must be alive after it", got=living)


def launch(target: str, options: str, folder: str, programs: str, what: str) -> None:
    """Launch small programs and write a report."""
    place = Path(folder)
    environ = {**os.environ, "FOLDER": folder}
    processes = tuple(
        ProcessSpec(
            name.partition("-")[0],
            name,
            (sys.executable, "-S", "-c", _HEAD + body, f"of-{name}"),
            {**environ, "NAME": name},
            place / f"{name}.log",
        )
        for name, body in json.loads(programs).items()
    )
    # The coordinator is the first.
    processes = tuple(sorted(processes, key=lambda one: one.role != "coordinator"))
    launcher: Launcher = pkgutil.resolve_name(target)(
        Launch(place, f"ipc://{folder}/sock", processes), **json.loads(options)
    )
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if what and (place / "ready").exists():
            if what == "interrupt":
                raise KeyboardInterrupt
            launcher.drain()

    report = Report()
    try:
        report = Report(launcher.run(tick), "", ticks)
    except (RunFailed, KeyboardInterrupt) as error:
        report = Report(None, f"{type(error).__name__}: {error}", ticks)
    finally:
        launcher.end()
        launcher.end()
    (place / "report.json").write_bytes(msgspec.json.encode(report))


def _hiding(coordinator: str, worker: str) -> dict[str, str]:
    hides = (
        "sleep = [sys.executable, '-S', '-c', 'import time; time.sleep(600)']\n"
        "hidden = subprocess.Popen(sleep, start_new_session=True)\n"
        "note('lives', str(hidden.pid))\n"
    )
    return {"coordinator": "wait(lambda: len(lives('verify-0')) == 2)\n" + coordinator, "verify-0": hides + worker}


def _read(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
