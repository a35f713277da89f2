"""What a verifier's process is kept from, and what it leaves behind."""

import os
import platform
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.runtime.verify import landlock
from assay.runtime.verify.lockdown import LockdownReport, lockdown_report, missing
from assay.runtime.verify.message import Limits

MakeBench = Callable[..., Any]


@pytest.fixture(scope="module")
def report() -> LockdownReport:
    """What this machine's lockdown holds."""
    return lockdown_report()


@pytest.fixture
def needs(report: LockdownReport) -> Callable[..., None]:
    """Leave a test of a protection out on a kernel that has none; the report says so there."""

    def needs(*words: str) -> None:
        if absent := set(words) - set(report.in_force):
            pytest.skip(f"this kernel has no {', '.join(sorted(absent))}")

    return needs


@pytest.fixture
def tell(make_bench: MakeBench) -> Callable[[str], str]:
    """Run code in a locked-down worker; return its `result`, or what was raised."""
    bench = make_bench("report")

    def tell(code: str) -> str:
        outcome = bench.call("report", code)
        return outcome.measurement.signals["text"] if outcome.measurement else outcome.detail

    return tell


Tell = Callable[[str], str]
NeedsWords = Callable[..., None]


def test_whatever_the_kernel_offers_is_in_force(report: LockdownReport) -> None:
    level = landlock.abi()
    rights = {"files": 1, "truncate": 3, "tcp": 4, "signals": 6}
    offered = {f"landlock.{name}" for name, since in rights.items() if level >= since}
    if platform.machine() in ("x86_64", "aarch64") and "Seccomp_filters" in Path("/proc/self/status").read_text():
        offered |= {"seccomp.calls", "seccomp.sockets"}
    if (
        subprocess.run(
            ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--net", "--mount", "true"]
        ).returncode
        == 0
    ):
        offered |= {"namespace.processes", "namespace.network", "scratch.size"}
    assert set() == offered - set(report.in_force)


def test_report_names_what_is_missing_and_nothing_else(report: LockdownReport) -> None:
    assert missing(report.in_force) == report.missing
    assert report.is_complete == (not report.missing)


def test_report_says_plainly_what_is_missing() -> None:
    lines = missing(("no_new_privileges",))
    assert "files: a verifier can write to every file its user can" in lines
    assert 9 == len(lines)


def test_files_outside_scratch_cannot_be_written(tell: Tell, tmp_path: Path, needs: NeedsWords) -> None:
    needs("landlock.files", "landlock.truncate")
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    for code in (
        f"open({str(tmp_path / 'new')!r}, 'w')",
        f"open({str(kept)!r}, 'w')",
        f"open({str(kept)!r}, 'a')",
        f"import os; os.truncate({str(kept)!r}, 0)",
        f"import os; os.unlink({str(kept)!r})",
        f"import os; os.rename({str(kept)!r}, 'here')",
        f"import os; os.symlink('/etc', {str(tmp_path / 'link')!r})",
        f"import os; os.mkdir({str(tmp_path / 'folder')!r})",
    ):
        assert "PermissionError" in tell(code) or "OSError" in tell(code)
    assert "as it was" == kept.read_text()
    assert ["kept", "scratch"] == sorted(path.name for path in tmp_path.iterdir())


def test_modes_and_owners_outside_stay(tell: Tell, tmp_path: Path, needs: NeedsWords) -> None:
    needs("seccomp.calls")
    kept = tmp_path / "kept"
    kept.write_text("")
    before = kept.stat()
    tell(f"import os; os.chmod({str(kept)!r}, 0o4777); result = 1")
    tell(f"import os; os.utime({str(kept)!r}, (0, 0)); result = 1")
    assert "PermissionError" in tell(f"import os; os.chown({str(kept)!r}, 1, 1)")
    after = kept.stat()
    assert (before.st_mode, before.st_uid, before.st_mtime) == (after.st_mode, after.st_uid, after.st_mtime)


def test_scratch_is_writable_empty_at_each_call_and_bounded(make_bench: MakeBench, needs: NeedsWords) -> None:
    needs("scratch.size")
    bench = make_bench("report", limits=Limits(scratch_bytes=1 << 20))
    write = "import os, pathlib\npathlib.Path('a/b').mkdir(parents=True)\npathlib.Path('a/b/f').write_text('x')\n"
    for _ in range(2):
        listed = bench.call("report", "import os\nresult = os.listdir()\n" + write)
        assert "[]" == listed.measurement.signals["text"]
    assert "No space left" in bench.call("report", "open('big', 'wb').write(bytes(2 << 20))").detail


def test_no_socket_can_be_made(tell: Tell, tmp_path: Path, needs: NeedsWords) -> None:
    needs("seccomp.sockets")
    path = str(tmp_path / "s")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    tcp = socket.create_server(("127.0.0.1", 0))
    port = tcp.getsockname()[1]
    assert "PermissionError" in tell(f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})")
    assert "PermissionError" in tell(f"import socket; socket.create_connection(('127.0.0.1', {port}))")
    assert "PermissionError" in tell("import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)")
    for server in (listener, tcp):
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
        server.close()


def test_network_is_kept_where_declared(make_bench: MakeBench) -> None:
    tcp = socket.create_server(("127.0.0.1", 0))
    bench = make_bench("report", net=True)
    code = f"import socket\nsocket.create_connection(('127.0.0.1', {tcp.getsockname()[1]}))\nresult = 'through'"
    assert "through" == bench.call("report", code).measurement.signals["text"]
    tcp.close()


def test_environment_and_descriptors_of_the_host_are_not_there(
    monkeypatch: pytest.MonkeyPatch, make_bench: MakeBench
) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    bench = make_bench("report")
    assert "None" == bench.call("report", "import os\nresult = os.environ.get('API_KEY')").measurement.signals["text"]
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    code = "import os\nresult = ' '.join(os.readlink(f'/proc/self/fd/{n}') for n in range(4096) if is_open(n))\n"
    check = "import os\ndef is_open(n):\n  try: os.fstat(n)\n  except OSError: return False\n  return True\n"
    opened = make_bench("report").call("report", check + code).measurement.signals["text"].split()
    assert "/dev/null" == opened[0] == opened[1]
    assert ["socket"] == [name.split(":")[0] for name in opened if name.startswith(("socket", "pipe"))]
    os.close(reader)
    os.close(writer)


def test_processes_outside_cannot_be_signalled(tell: Tell, needs: NeedsWords) -> None:
    needs("namespace.processes")
    with subprocess.Popen(["sleep", "60"]) as other:
        tell(f"import os; os.kill({other.pid}, 9); result = 1")
        tell("import os; os.kill(-1, 9); result = 1")
        assert other.poll() is None
        other.kill()


def test_privileges_do_not_come_back(tell: Tell, needs: NeedsWords) -> None:
    needs("seccomp.calls")
    status = tell("result = open('/proc/self/status').read()")
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert ("0" * 16, "0" * 16, "1") == (lines["CapEff"], lines["CapPrm"], lines["NoNewPrivs"])
    assert "PermissionError" in tell(
        "import os, ctypes\nif ctypes.CDLL(None, use_errno=True).unshare(0x10000000): raise PermissionError"
    )


def test_memory_of_one_call_is_bounded(make_bench: MakeBench) -> None:
    bench = make_bench("report", limits=Limits(memory_bytes=256 << 20))
    assert "MemoryError" in bench.call("report", "bytearray(1 << 30)").detail
    assert "ok" == bench.call("report", "result = 'ok'").measurement.signals["text"]


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        {act}
        while True: time.sleep(1)
    os._exit(0)
result = 42
"""


def daemons(mark: str) -> list[int]:
    """Processes whose name is the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == mark:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def daemon(mark: str) -> str:
    """Code that leaves a process of that name behind."""
    return DAEMON.format(act=f"import ctypes; ctypes.CDLL(None).prctl(15, b'{mark}', 0, 0, 0)")


@pytest.mark.parametrize("namespaces", [True, False])
@pytest.mark.parametrize("mode", ["worker", "fork"])
def test_daemon_of_an_answer_is_gone_when_its_verdict_is_there(
    make_bench: MakeBench, mode: str, namespaces: bool
) -> None:
    mark = f"d{os.getpid()}{mode[:2]}{namespaces:d}"
    name = "run" if mode == "worker" else "run_forked"
    bench = make_bench(name, mode=mode, namespaces=namespaces)
    assert bench.call(name, daemon(mark)).measurement.signals["right"]
    assert [] == daemons(mark)


@pytest.mark.parametrize("namespaces", [True, False])
def test_timeout_ends_the_daemons_too(make_bench: MakeBench, namespaces: bool) -> None:
    mark = f"h{os.getpid()}{namespaces:d}"
    bench = make_bench("run", namespaces=namespaces)
    bench.submit("run", daemon(mark) + "\nwhile True: pass", timeout_s=0.7)
    while not daemons(mark):
        assert [] == bench.host.poll(0.01)
    (outcome,) = bench.collect(1).values()
    assert outcome.is_timeout
    assert [] == daemons(mark)


HOST = """
import sys, time
from assay.runtime.verify.host import VerifierHost, VerifierRef
from assay.runtime.verify.message import Job
from pathlib import Path
host = VerifierHost(paths=[sys.argv[1]], namespaces=sys.argv[2] == "True", folder=Path(sys.argv[4]))
ref = "assay-hazard:1.0.0:assay_hazard:run"
host.start([VerifierRef(ref)])
host.wait_started()
host.submit(Job(1, ref, {}, sys.argv[3], None, 60.0))
print(*host.pids, flush=True)
host.poll(60.0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("namespaces", [True, False])
def test_everything_ends_with_a_host_that_is_killed(plugin_folder: str, tmp_path: Path, namespaces: bool) -> None:
    mark = f"o{os.getpid()}{namespaces:d}"
    argv = [sys.executable, "-c", HOST, plugin_folder, str(namespaces), daemon(mark) + "\nwhile True: pass"]
    argv.append(str(tmp_path))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        guard = int(host.stdout.readline())
        until = time.monotonic() + 20
        while not daemons(mark):
            assert time.monotonic() < until
        watch = os.pidfd_open(guard)
        host.send_signal(signal.SIGKILL)
        host.wait()
    assert [watch] == select.select([watch], [], [], 10)[0]
    os.close(watch)
    assert [] == daemons(mark)
    assert [] == list(tmp_path.iterdir())
