"""What this machine's lockdown of verifiers holds, found by trying: for `assay doctor` and the log of a run."""

import sys

import msgspec

from assay.core.error import PluginError
from assay.runtime.verify import landlock
from assay.runtime.verify.message import Limits, Setup
from assay.runtime.verify.process import WorkerProcess

# Protection, the words in force that give it (any of them), and what a verifier could do without it.
_PROTECTIONS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("files", ("landlock.files",), "a verifier can write to every file its user can"),
    ("truncate", ("landlock.truncate",), "a verifier can empty files its user can write"),
    ("tcp", ("landlock.tcp", "namespace.network", "seccomp.sockets"), "a verifier can open TCP connections"),
    ("sockets", ("seccomp.sockets",), "a verifier can connect to unix sockets, such as a container daemon's"),
    ("network", ("namespace.network", "seccomp.sockets"), "a verifier can use UDP and other networks"),
    ("processes", ("namespace.processes",), "processes that a verifier leaves are searched and killed one by one"),
    ("signals", ("landlock.signals", "namespace.processes"), "a verifier can signal its user's processes"),
    ("calls", ("seccomp.calls",), "a verifier can change file modes and look into its user's processes"),
    ("scratch", ("scratch.size",), "a verifier's scratch folder has no size limit, only each file in it"),
)


class LockdownReport(msgspec.Struct, frozen=True):
    """What a worker process on this machine is kept from.

    Attributes:
        landlock_abi: Of the kernel; 0 where there is none.
        in_force: Protections that took, such as `landlock.files`.
        missing: One line per protection that did not.
    """

    landlock_abi: int
    in_force: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing


def lockdown_report() -> LockdownReport:
    """Start one empty worker and return what its lockdown holds.

    Raises:
        PluginError: no worker can be started here at all.
    """
    process = WorkerProcess(Setup((), "worker"))
    try:
        process.wait_hello(Limits().start_s)
        if process.hello is None:
            raise PluginError("a worker must start on this machine", got=process.end(), at=sys.executable)
        return LockdownReport(landlock.abi(), process.hello.locked, missing(process.hello.locked))
    finally:
        process.end()


def missing(in_force: tuple[str, ...]) -> tuple[str, ...]:
    """Return one line per protection that none of the words in force gives."""
    return tuple(
        f"{name}: {consequence}" for name, words, consequence in _PROTECTIONS if not set(words) & set(in_force)
    )
