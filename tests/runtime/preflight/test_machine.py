"""What the machine lacks is said with its consequence and the command that mends it."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.error import PluginError
from assay.runtime.preflight import machine
from assay.runtime.verify.lockdown import LockdownReport, missing

WHOLE = ("landlock.files", "landlock.truncate", "landlock.tcp", "landlock.signals", "namespace.processes",
         "namespace.network", "seccomp.sockets", "seccomp.calls", "scratch.size")  # fmt: skip


def lacking(*words: str, abi: int = 7) -> LockdownReport:
    in_force = tuple(word for word in WHOLE if word not in words)
    return LockdownReport(abi, in_force, missing(in_force))


def test_complete_lockdown_is_sound() -> None:
    check = machine.check_lockdown(lacking)
    assert ("ok", "complete, Landlock ABI 7", "") == (check.state, check.found, check.fix)


@pytest.mark.parametrize(
    ("report", "setting", "found", "fix"),
    [
        (lacking("landlock.files", abi=0), "", "files: a verifier can write to every file", "lsm=landlock"),
        (
            lacking("scratch.size"),
            "user/max_user_namespaces=0",
            "scratch: a verifier's scratch folder has no size limit",
            "sudo sysctl -w user.max_user_namespaces=15000",
        ),
        (lacking("scratch.size"), "", "scratch: a verifier's scratch folder", "--security-opt seccomp=unconfined"),
    ],
)
def test_lockdown_with_a_hole_says_what_it_lets_through(
    report: LockdownReport, setting: str, found: str, fix: str, tmp_path: Path
) -> None:
    if setting:
        name, _, value = setting.partition("=")
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(f"{value}\n")
    check = machine.check_lockdown(lambda: report, tmp_path)
    assert "warn" == check.state
    assert found in check.found
    assert fix in check.fix


def test_machine_that_starts_no_verifier_fails() -> None:
    def refuse() -> LockdownReport:
        raise PluginError("a worker must start on this machine", got="SIGSYS")

    check = machine.check_lockdown(refuse)
    assert ("fail", "a worker must start on this machine, got SIGSYS") == (check.state, check.found)


def test_absent_shared_memory_is_a_warning(tmp_path: Path) -> None:
    check = machine.check_shared_memory(tmp_path / "shm")
    assert ("warn", f"mount -t tmpfs -o size=2G tmpfs {tmp_path / 'shm'}") == (check.state, check.fix)
    assert check.found.startswith("No such file or directory")


@pytest.mark.parametrize(
    ("available", "limit", "state", "found"),
    [
        (8 << 20, None, "ok", "8.0 GiB available"),
        (8 << 20, "max", "ok", "8.0 GiB available"),
        (8 << 20, str(6 << 30), "ok", "8.0 GiB available, limited to 6.0 GiB"),
        (8 << 20, str(1 << 30), "warn", "8.0 GiB available, limited to 1.0 GiB: engine and trainer"),
        (1 << 20, None, "warn", "1.0 GiB available: engine and trainer"),
    ],
)
def test_memory_is_what_the_group_allows(
    available: int, limit: str | None, state: str, found: str, tmp_path: Path
) -> None:
    (tmp_path / "meminfo").write_text(f"MemTotal: {16 << 20} kB\nMemAvailable: {available} kB\n")
    if limit is not None:
        (tmp_path / "memory.max").write_text(f"{limit}\n")
    check = machine.check_memory(tmp_path / "meminfo", tmp_path)
    assert (state, True) == (check.state, check.found.startswith(found))


def test_run_folder_is_looked_for_above_where_it_is_not_made_yet(tmp_path: Path) -> None:
    assert "ok" == machine.check_runs(tmp_path / "a" / "runs").state
    assert [] == list(tmp_path.iterdir())
    (tmp_path / "a").write_text("in the way")
    check = machine.check_runs(tmp_path / "a" / "runs")
    assert ("fail", f"{tmp_path}/a/runs must be writable, got Not a directory") == (check.state, check.found)
    assert "run.folder=" in check.fix


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Path]:
    """A socket on which something answers once as a container engine does."""
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                assert connection.recv(4096).startswith(b"GET /_ping ")
                connection.sendall(b"HTTP/1.1 200 OK\r\nApi-Version: 1.47\r\nContent-Length: 2\r\n\r\nOK")

        thread = threading.Thread(target=answer)
        thread.start()
        yield path
        thread.join()


def test_engine_that_answers_is_sound(engine: Path) -> None:
    check = machine.check_engine({"DOCKER_HOST": f"unix://{engine}"})
    assert ("ok", f"unix://{engine}, API 1.47") == (check.state, check.found)


@pytest.mark.parametrize(("installed", "fix"), [(False, "sudo apt-get install docker.io"), (True, "dockerd")])
def test_absent_engine_is_installed_or_started(installed: bool, fix: str, tmp_path: Path) -> None:
    environ = {"DOCKER_HOST": f"unix://{tmp_path}/docker.sock"}
    check = machine.check_engine(environ, lambda name: "/usr/sbin/dockerd" if installed and name == "dockerd" else None)
    assert "warn" == check.state
    assert "must answer, got No such file or directory" in check.found
    assert fix in check.fix
    assert "warn" == machine.check_engine({"DOCKER_HOST": "ssh://somewhere"}).state


def test_cores_are_those_this_process_may_use() -> None:
    assert machine.check_cores().found.startswith(f"{len(os.sched_getaffinity(0))} of ")
