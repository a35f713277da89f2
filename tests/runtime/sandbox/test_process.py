"""The backend that isolates nothing declares nothing it cannot hold."""

import asyncio
from collections.abc import Iterator
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
