"""Processes of a run: their sessions, their ends, and that none is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.runtime.launch.child import Child
from assay.runtime.launch.orphan import descendants

SLEEP = "import time; time.sleep(600)"


def child(tmp_path: Path, code: str) -> Child:
    return Child("verify", "verify-0", [sys.executable, "-S", "-c", code], os.environ, tmp_path / "verify-0.log")


def wait_readable(descriptor: int) -> None:
    import select

    assert select.select([descriptor], [], [], 10)[0]
    os.close(descriptor)


def test_child_has_a_session_of_its_own(tmp_path: Path) -> None:
    one = child(tmp_path, SLEEP)
    descriptor = one.start()
    assert os.getsid(one.pid) == one.pid != os.getsid(0)
    assert one.is_alive
    one.signal_group(signal.SIGKILL)
    wait_readable(descriptor)
    assert -signal.SIGKILL == one.note_end()
    assert not one.is_alive


def test_end_is_noted_with_every_life(tmp_path: Path) -> None:
    one = child(tmp_path, "raise SystemExit(3)")
    for number in range(2):
        wait_readable(one.start())
        assert 3 == one.note_end()
        assert number + 1 == one.num_failures
        assert number == one.num_restarts
    assert [3, 3] == [life["exit"] for life in one.history]
    assert len({life["pid"] for life in one.history}) == 2


def test_last_words_are_the_error_where_there_is_one(tmp_path: Path) -> None:
    code = "print('error[XX001]: it must hold, got 3'); print('bye')"
    one = child(tmp_path, code)
    assert "" == one.last_words()
    wait_readable(one.start())
    one.note_end()
    assert "error[XX001]: it must hold, got 3" == one.last_words()


def test_what_a_child_left_in_its_group_ends_with_it(tmp_path: Path) -> None:
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-S', '-c', {SLEEP!r}])"
    one = child(tmp_path, code)
    wait_readable(one.start())
    one.note_end()
    deadline = time.monotonic() + 10
    while _group_lives(one.pid):
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.slow
def test_every_descendant_is_ended_whatever_its_session() -> None:
    code = f"""
import subprocess, sys
from assay.runtime.launch.orphan import adopt_orphans, descendants, end_descendants
import os
adopt_orphans()
inner = "import subprocess, sys; subprocess.Popen([sys.executable, '-S', '-c', {SLEEP!r}], start_new_session=True)"
for _ in range(3):
    subprocess.Popen([sys.executable, "-S", "-c", inner], start_new_session=True).wait()
while len(descendants(os.getpid())) < 3:
    pass
print(len(end_descendants()), len(descendants(os.getpid())))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "3 0" == ended.stdout.strip(), ended.stderr


def test_descendants_do_not_hold_the_process_itself() -> None:
    assert os.getpid() not in descendants(os.getpid())


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_process_of_the_command_is_spared_with_what_is_below_it_and_keeps_its_status() -> None:
    code = f"""
import subprocess, sys, time
from assay.runtime.launch.orphan import adopt_orphans, descendants, end_descendants, spare
import os
adopt_orphans()
tracker = subprocess.Popen([sys.executable, "-S", "-c", "import sys; sys.stdin.read(); sys.exit(7)"], stdin=-1)
worker = subprocess.Popen([sys.executable, "-S", "-c", {SLEEP!r}])
spare(tracker.pid)
print(end_descendants() == [worker.pid], tracker.poll(), flush=True)
tracker.stdin.close()
os.waitid(os.P_PID, tracker.pid, os.WEXITED | os.WNOWAIT)
end_descendants()
print(tracker.wait(), flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert ("True None\n7\n", "") == (done.stdout, done.stderr)
