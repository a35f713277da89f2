"""What happens in a box stays in it, and every end has its status."""

from typing import Any

import pytest

from assay.core.error import SandboxError
from assay.core.sandbox import ExecResult, SandboxSpec

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def sh(run: Any, box: Any, script: str, **options: Any) -> ExecResult:
    return run(box.exec(["/bin/sh", "-c", script], **options))


def test_command_runs_with_input_environment_and_folder(run: Any, box: Any) -> None:
    result = sh(run, box, "cat; echo $WORD; pwd; echo oops >&2", stdin=b"in\n", env={"WORD": "x"}, cwd="/tmp")
    assert ("ok", 0, b"in\nx\n/tmp\n", b"oops\n") == (result.status, result.exit_code, result.stdout, result.stderr)
    assert result.wall_s > 0


@pytest.mark.parametrize(
    ("script", "status", "code"),
    [("exit 3", "nonzero", 3), ("kill -9 $$", "signal", None), ("yes", "output_limit", None)],
)
def test_end_has_its_status(run: Any, box: Any, script: str, status: str, code: int | None) -> None:
    result = sh(run, box, script)
    assert (status, code) == (result.status, result.exit_code)


def test_timeout_ends_the_grandchildren_and_the_box_goes_on(run: Any, box: Any) -> None:
    result = sh(run, box, "(setsid sleep 7777 &); sleep 8888", timeout_s=0.5)
    assert ("timeout", True) == (result.status, result.wall_s < 5)
    # Zombies wait for the first process; nothing runs.
    assert b"" == sh(run, box, "ps -o stat,args | grep -E 'sleep (7|8)' | grep -v -e grep -e ^Z").stdout
    assert sh(run, box, "true").ok


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


def test_box_without_network_has_no_device_but_loopback(run: Any, box: Any) -> None:
    assert b"lo\n" == sh(run, box, "ls /sys/class/net").stdout


def test_processes_are_bounded(run: Any, box: Any) -> None:
    result = sh(run, box, "for i in $(seq 400); do sleep 60 & done; true", timeout_s=20.0)
    assert b"fork" in result.stderr
    assert result.status in ("nonzero", "timeout")


def test_file_goes_in_and_out_whole(run: Any, box: Any) -> None:
    data = bytes(range(256)) * 1000
    run(box.put("/work/a folder/it's.bin", data, mode=0o600))
    assert data == run(box.get("/work/a folder/it's.bin"))
    assert b"600\n" == sh(run, box, "stat -c %a /work/a*/*").stdout


def test_file_that_is_too_large_or_absent_is_an_error(run: Any, box: Any) -> None:
    run(box.put("/work/f", b"12345"))
    with pytest.raises(SandboxError, match="at most 4 bytes"):
        run(box.get("/work/f", max_bytes=4))
    with pytest.raises(SandboxError, match="No such file"):
        run(box.get("/work/none"))


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


def test_fork_begins_in_the_snapshot_and_forks_do_not_meet(run: Any, box: Any) -> None:
    run(box.put("/work/f", b"before"))
    snapshot = run(box.snapshot())
    run(box.put("/work/f", b"after"))
    one, other = run(box.fork(snapshot, 2))
    run(one.put("/work/g", b"mine"))
    assert b"before" == run(one.get("/work/f")) == run(other.get("/work/f"))
    assert not sh(run, other, "test -e /work/g").ok
    run(one.close())
    run(other.close())


def test_reset_goes_back_to_the_image(run: Any, box: Any) -> None:
    run(box.put("/work/f", b"x"))
    sh(run, box, "(setsid sleep 7777 &)")
    run(box.reset())
    assert b"" == sh(run, box, "ls /work").stdout
    assert b"0\n" == sh(run, box, "ps | grep -c 'sleep 777[7]'").stdout


def test_fingerprint_changes_with_a_file_and_comes_back_with_it(run: Any, box: Any) -> None:
    run(box.put("/work/f", b"one"))
    first = run(box.fingerprint())
    assert first == run(box.fingerprint())
    run(box.put("/work/f", b"two"))
    assert first != run(box.fingerprint())
    run(box.put("/work/f", b"one"))
    assert first == run(box.fingerprint())


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
