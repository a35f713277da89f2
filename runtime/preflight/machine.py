"""What the machine gives: lockdown of verifiers, memory, cores, the container engine, room for runs."""

import http.client
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.core.error import PluginError
from assay.runtime.preflight.check import Check
from assay.runtime.verify.lockdown import LockdownReport, lockdown_report

# Weights of a small policy lie in memory three times, and twice that must be free; see `runtime.weight.place`.
_LEAST_SHARED_BYTES = 512 << 20
# Engine and trainer load PyTorch, and the trainer Megatron-core.
_LEAST_MEMORY_BYTES = 3 << 30
_LEAST_DISK_BYTES = 1 << 30
_DEFAULT_ENGINE = "unix:///var/run/docker.sock"
_PING_S = 2.0
# A kernel setting, the value that keeps processes from making namespaces, and what to set instead.
_NAMESPACE_SETTINGS = (
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("user/max_user_namespaces", "0", "15000"),
)
_SYSCTL = Path("/proc/sys")


def check_lockdown(report: Callable[[], LockdownReport] = lockdown_report, settings: Path = _SYSCTL) -> Check:
    """Start an empty verifier process and look at what it is kept from."""
    try:
        found = report()
    except PluginError as error:
        return Check("verifier lockdown", "fail", str(error), "assay plugins --verbose")
    if found.is_complete:
        return Check("verifier lockdown", "ok", f"complete, Landlock ABI {found.landlock_abi}")
    return Check("verifier lockdown", "warn", "; ".join(found.missing), _lockdown_fix(found, settings))


def check_shared_memory(folder: Path = Path("/dev/shm")) -> Check:
    """Look for memory that processes of a run share weights in."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError as error:
        found = f"{error.strerror}: weights go through files in the run folder"
        return Check("shared memory", "warn", found, f"mount -t tmpfs -o size=2G tmpfs {folder}")
    text = f"{folder} has {_size(usage.free)} free of {_size(usage.total)}"
    if usage.free < _LEAST_SHARED_BYTES:
        found = f"{text}: weights go through files in the run folder"
        return Check("shared memory", "warn", found, f"mount -o remount,size=2G {folder}")
    return Check("shared memory", "ok", text)


def check_memory(meminfo: Path = Path("/proc/meminfo"), cgroup: Path = Path("/sys/fs/cgroup")) -> Check:
    """Look at memory that is free, and at the limit this process lives under."""
    fields = dict(line.split(":", 1) for line in meminfo.read_text(encoding="ascii").splitlines())
    free = int(fields["MemAvailable"].split()[0]) << 10
    limit = _memory_limit(cgroup)
    if limit is not None and limit < int(fields["MemTotal"].split()[0]) << 10:
        text = f"{_size(free)} available, limited to {_size(limit)}"
        free = min(free, limit)
    else:
        text = f"{_size(free)} available"
    if free < _LEAST_MEMORY_BYTES:
        fix = "assay train trainer.micro_tokens=4096"
        return Check("memory", "warn", f"{text}: engine and trainer each load PyTorch", fix)
    return Check("memory", "ok", text)


def check_cores() -> Check:
    """Count the cores that this process may use."""
    count = len(os.sched_getaffinity(0))
    return Check("cores", "ok", f"{count} of {os.cpu_count()}")


def check_engine(environ: Mapping[str, str] = os.environ, which: Callable[[str], str | None] = shutil.which) -> Check:
    """Ask the container engine whether it is there."""
    address = environ.get("DOCKER_HOST") or _DEFAULT_ENGINE
    try:
        version = ping(address)
    except PermissionError:
        found = f"{address} must be open to this user"
        return Check("docker engine", "warn", found, "sudo usermod -aG docker $USER && newgrp docker")
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        found = f"{address} must answer, got {reason}: no boxes from the docker backend"
        is_booted = which("systemctl") is not None and Path("/run/systemd/system").exists()
        start = "sudo systemctl start docker" if is_booted else "sudo sh -c 'dockerd >/var/log/dockerd.log 2>&1 &'"
        fix = start if which("dockerd") else "sudo apt-get install docker.io"
        return Check("docker engine", "warn", found, fix)
    return Check("docker engine", "ok", f"{address}, API {version}")


def check_runs(folder: Path) -> Check:
    """Try to write where run folders go."""
    place = folder.absolute()
    while not os.path.lexists(place):
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        found = f"{folder} must be writable, got {error.strerror}"
        return Check(
            "run folder", "fail", found, f"mkdir -p ~/runs && assay train run.folder=~/runs  # or mend {place}"
        )
    free = shutil.disk_usage(place).free
    text = f"{folder} has {_size(free)} free"
    if free < _LEAST_DISK_BYTES:
        return Check("run folder", "warn", f"{text}: checkpoints and trajectories need room", f"du -sh {folder}/*")
    return Check("run folder", "ok", text)


def ping(address: str) -> str:
    """Return the API version of a container engine.

    Raises:
        OSError: nobody answers.
        HTTPException: whoever answers speaks no HTTP.
        ValueError: the address is none, or the answer is no engine's.
    """
    scheme, _, rest = address.partition("://")
    if scheme not in ("unix", "tcp", "http"):
        raise ValueError(f"an address must begin with unix:// or tcp://, got {address}")
    with _connect(scheme, rest) as channel:
        connection = http.client.HTTPConnection("localhost", timeout=_PING_S)
        connection.sock = channel
        connection.request("GET", "/_ping", headers={"Connection": "close"})
        answer = connection.getresponse()
        version = answer.getheader("Api-Version")
        answer.close()
    if answer.status != 200 or version is None:
        raise ValueError(f"no engine's answer, status {answer.status}")
    return version


def _connect(scheme: str, rest: str) -> socket.socket:
    if scheme != "unix":
        host, _, port = rest.rstrip("/").rpartition(":")
        return socket.create_connection((host, int(port)), _PING_S)
    channel = socket.socket(socket.AF_UNIX)
    try:
        channel.settimeout(_PING_S)
        channel.connect(rest)
    except OSError:
        channel.close()
        raise
    return channel


def _lockdown_fix(report: LockdownReport, settings: Path) -> str:
    if not report.landlock_abi:
        return (
            "boot a kernel of 5.13 or newer with `lsm=landlock,...` on its command line: cat /sys/kernel/security/lsm"
        )
    for name, forbids, allows in _NAMESPACE_SETTINGS:
        try:
            value = (settings / name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if value == forbids:
            return f"sudo sysctl -w {name.replace('/', '.')}={allows}"
    return "inside a container: docker run --security-opt seccomp=unconfined ...; otherwise a kernel of 6.7 or newer"


def _memory_limit(cgroup: Path) -> int | None:
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            return int((cgroup / name).read_text(encoding="ascii"))
        except (OSError, ValueError):  # absent, or `max`
            continue
    return None


def _size(num_bytes: int) -> str:
    return f"{num_bytes / (1 << 30):.1f} GiB" if num_bytes >= 1 << 30 else f"{num_bytes / (1 << 20):.0f} MiB"
