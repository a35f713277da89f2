"""What happens in a box stays in it, and every end has its status."""

from typing import Any

import pytest

from assay.core.sandbox import ExecResult, SandboxSpec

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def sh(run: Any, box: Any, script: str, **options: Any) -> ExecResult:
    return run(box.exec(["/bin/sh", "-c", script], **options))


def test_memory_kill_is_oom_and_a_later_kill_is_not(run: Any, backend: Any, image: str) -> None:
    box = run(backend.acquire(SandboxSpec(image, memory_bytes=64 << 20, history="keep"), 60.0))
    assert "oom" == run(box.exec(["python3", "-c", "bytearray(1 << 29)"])).status
    assert "signal" == sh(run, box, "kill -9 $$").status
    run(box.close())


def test_command_runs_without_privileges(run: Any, box: Any) -> None:
    assert b"1000\n" == sh(run, box, "id -u").stdout
    assert (
        b"CapEff:\t0000000000000000\nNoNewPrivs:\t1\n"
        == sh(run, box, "grep -E 'CapEff|NoNewPrivs' /proc/self/status").stdout
    )


def test_processes_are_bounded(run: Any, box: Any) -> None:
    result = sh(run, box, "for i in $(seq 400); do sleep 60 & done; true", timeout_s=20.0)
    assert b"fork" in result.stderr
    assert result.status in ("nonzero", "timeout")


def test_read_only_box_takes_and_gives_files(run: Any, base_url: str, image: str, backend: Any) -> None:
    from assay_sandbox_docker.backend import DockerBackend

    backend = DockerBackend(base_url=base_url, read_only=True)
    box = run(backend.acquire(SandboxSpec(image, history="keep"), 60.0))
    run(box.put("/work/f", b"x"))
    assert b"x" == run(box.get("/work/f"))
    assert b"Read-only" in sh(run, box, "touch /bin/x || mkdir /x").stderr
    run(box.close())
    assert {"snapshot", "fork"}.isdisjoint(backend.capabilities())
    backend.client.close()


def test_reset_goes_back_to_the_image(run: Any, box: Any) -> None:
    run(box.put("/work/f", b"x"))
    sh(run, box, "(setsid sleep 7777 &)")
    run(box.reset())
    assert b"" == sh(run, box, "ls /work").stdout
    assert b"0\n" == sh(run, box, "ps | grep -c 'sleep 777[7]'").stdout


REPOSITORY = """
set -e
mkdir -p /work/r && cd /work/r
git() { command git -c user.name=n -c user.email=e -c init.defaultBranch=main "$@"; }
git init -q && echo 1 > f && git add f && git commit -qm one
echo secret-fix > f && git commit -qam two && git tag solved && git branch later
git checkout -q HEAD~1
"""


def test_later_commits_are_not_visible_where_history_is_severed(run: Any, box: Any) -> None:
    result = sh(run, box, REPOSITORY)
    assert result.ok, result.stderr
    count = "cd /work/r && git cat-file --batch-check --batch-all-objects | wc -l; git log --all --oneline | wc -l"
    assert b"6\n2\n" == sh(run, box, count).stdout
    snapshot = run(box.snapshot())
    (severed,) = run(box.fork(snapshot, 1))
    severed.sever()
    assert b"3\n1\n" == sh(run, severed, count).stdout
    assert not sh(run, severed, "cd /work/r && git cat-file -e solved").ok
    assert b"1\n" == run(severed.get("/work/r/f"))
    run(severed.close())
