"""The backend that isolates nothing declares nothing it cannot hold."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.core.error import BoxFileError, SandboxError
from assay.core.sandbox import ExecResult, SandboxSpec
from assay.runtime.sandbox import process
from assay.runtime.sandbox.process import ProcessBackend, ProcessSandbox


@pytest.fixture
def run() -> Iterator[Any]:
    """Run a coroutine to its end."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture
def box(run: Any) -> Iterator[ProcessSandbox]:
    """A fresh folder."""
    made = run(ProcessBackend().acquire(SandboxSpec("any"), 1.0))
    yield made
    run(made.close())
    assert not made.folder.exists()


def sh(run: Any, box: ProcessSandbox, script: str, **options: Any) -> ExecResult:
    return run(box.exec(["/bin/sh", "-c", script], **options))


def test_only_what_it_can_hold_is_declared() -> None:
    assert {"exec", "cpu", "time"} == ProcessBackend().capabilities()


def test_command_runs_in_the_folder_with_a_clean_environment(
    run: Any, box: ProcessSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    result = sh(run, box, "cat; pwd; echo $API_KEY$WORD >&2; exit 3", stdin=b"in\n", env={"WORD": "x"})
    assert ("nonzero", 3) == (result.status, result.exit_code)
    assert (f"in\n{box.folder}\n".encode(), b"x\n") == (result.stdout, result.stderr)


def test_cores_are_held_to(run: Any, box: ProcessSandbox) -> None:
    assert b"1\n" == sh(run, box, "nproc").stdout
    assert 127 == run(box.exec(["no-such-program"])).exit_code


def test_file_goes_in_and_out_and_never_elsewhere(run: Any, box: ProcessSandbox) -> None:
    run(box.put("/a/b", b"x", mode=0o600))
    assert b"x" == run(box.get("a/b"))
    for path in ("../x", "/a/../../x"):
        with pytest.raises(SandboxError, match="inside the box"):
            run(box.put(path, b""))
    with pytest.raises(SandboxError, match="at most 0 bytes"):
        run(box.get("a/b", max_bytes=0))
    with pytest.raises(SandboxError, match="No such file"):
        run(box.get("none"))


def test_file_that_an_answer_spoilt_is_no_failure_of_the_backend(run: Any, box: ProcessSandbox) -> None:
    sh(run, box, "mkdir folder; mkfifo pipe; ln -s /etc/passwd link; echo x > file")
    for path in ("none", "folder", "pipe", "link", "file/below"):
        with pytest.raises(BoxFileError):
            run(box.get(path))
    for path in ("folder", "pipe", "link", "file/below"):
        with pytest.raises(BoxFileError):
            run(box.put(path, b"x"))
    with pytest.raises(BoxFileError, match="at most 1 bytes"):
        run(box.get("file", max_bytes=1))


@pytest.mark.parametrize("argv", [["no-such-program"], ["echo", "a\0b"], ["echo", "x" * 300_000], []])
def test_command_that_cannot_start_is_a_result(argv: list[str], run: Any, box: ProcessSandbox) -> None:
    result = run(box.exec(argv))
    assert "nonzero" == result.status
    assert result.stderr


def test_box_whose_folder_an_answer_removed_gives_results(run: Any, box: ProcessSandbox) -> None:
    sh(run, box, 'rm -rf "$HOME"')
    assert "nonzero" == run(box.exec(["true"])).status
    assert "nonzero" == run(box.exec(["true"], cwd="nowhere")).status


CHAIN = """
import os, time
if os.fork() == 0:
    os.setsid()
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    until = time.time() + 30
    while time.time() < until:
        if os.fork():
            os._exit(0)
"""


@pytest.mark.slow
def test_processes_that_fork_and_die_all_the_time_end_with_the_box(run: Any) -> None:
    box = run(ProcessBackend().acquire(SandboxSpec("any"), 1.0))
    run(box.exec([sys.executable, "-c", CHAIN]))
    run(box.close())
    assert (False, []) == (box.folder.exists(), process._marked(box.folder))


def test_undeclared_is_refused(run: Any, box: ProcessSandbox) -> None:
    for call in (box.snapshot(), box.fork("s", 1), box.reset(), box.fingerprint()):
        with pytest.raises(SandboxError, match="must declare"):
            run(call)
    with pytest.raises(SandboxError, match="bounded memory"):
        run(ProcessBackend().acquire(SandboxSpec("any", memory_bytes=1), 1.0))


def test_daemon_of_a_command_ends_with_the_box(run: Any) -> None:
    box = run(ProcessBackend().acquire(SandboxSpec("any"), 1.0))
    pid = int(sh(run, box, "setsid sleep 60 >/dev/null 2>&1 </dev/null & echo $!").stdout)
    assert Path(f"/proc/{pid}").exists()
    run(box.close())
    assert is_gone(pid)


def test_what_a_killed_owner_left_is_found_and_removed(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine = run(ProcessBackend().acquire(SandboxSpec("any"), 1.0))
    with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert 0 == run(ProcessBackend().reap())
        owner.kill()
    assert 2 == len(list(tmp_path.iterdir()))
    assert not is_gone(pid)
    assert 1 == run(ProcessBackend().reap())
    assert [mine.folder] == list(tmp_path.iterdir())
    assert is_gone(pid)
    run(mine.close())


def test_folder_of_another_pid_namespace_is_left_alone(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("assay-box-1-4194304-5-x", "assay-box-", "assay-box-old"):
        (tmp_path / name).mkdir()
    assert 0 == run(ProcessBackend().reap())
    assert 3 == len(list(tmp_path.iterdir()))


OWNER = """
import asyncio, sys, tempfile
from assay.core.sandbox import SandboxSpec
from assay.runtime.sandbox import process
from assay.runtime.sandbox.process import ProcessBackend
tempfile.tempdir = sys.argv[1]

async def main():
    box = await ProcessBackend().acquire(SandboxSpec("any"), 1.0)
    print((await box.exec(["/bin/sh", "-c", "setsid sleep 60 >/dev/null 2>&1 </dev/null & echo $!"])).stdout.decode())
    sys.stdout.flush()
    await asyncio.sleep(60)

asyncio.run(main())
"""


def is_gone(pid: int) -> bool:
    """Whether a process has ended; nobody here collects it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
