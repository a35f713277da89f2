"""The backend that isolates nothing declares nothing it cannot hold."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.core.error import SandboxError
from assay.core.sandbox import ExecResult, SandboxSpec
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


@pytest.mark.parametrize(
    ("script", "status"), [("true", "ok"), ("kill -9 $$", "signal"), ("yes", "output_limit"), ("nope", "nonzero")]
)
def test_end_has_its_status(run: Any, box: ProcessSandbox, script: str, status: str) -> None:
    assert status == sh(run, box, script).status


def test_timeout_ends_the_descendants_too(run: Any, box: ProcessSandbox) -> None:
    result = sh(run, box, "setsid sleep 60 & echo $!; wait", timeout_s=0.2)
    pid = int(result.stdout)
    assert "timeout" == result.status
    status = Path(f"/proc/{pid}/stat")
    assert not status.exists() or "Z" == status.read_text().rpartition(")")[2].split()[0]


def test_cancelled_command_is_ended(run: Any, box: ProcessSandbox) -> None:
    async def cancel() -> int:
        task = asyncio.create_task(box.exec(["/bin/sh", "-c", "echo $$ > pid; sleep 60"]))
        while not (text := await read("pid")):
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return int(text)

    async def read(path: str) -> bytes:
        try:
            return await box.get(path)
        except SandboxError:
            return b""

    assert not Path(f"/proc/{run(cancel())}").exists()


def test_time_of_the_box_bounds_every_command(run: Any) -> None:
    box = run(ProcessBackend().acquire(SandboxSpec("any", time_s=0.2), 1.0))
    assert "timeout" == sh(run, box, "sleep 60").status
    assert "timeout" == sh(run, box, "true").status
    run(box.close())


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


def test_undeclared_is_refused(run: Any, box: ProcessSandbox) -> None:
    for call in (box.snapshot(), box.fork("s", 1), box.reset(), box.fingerprint()):
        with pytest.raises(SandboxError, match="must declare"):
            run(call)
    with pytest.raises(SandboxError, match="bounded memory"):
        run(ProcessBackend().acquire(SandboxSpec("any", memory_bytes=1), 1.0))
