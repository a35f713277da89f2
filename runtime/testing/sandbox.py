"""The contract of a sandbox backend: every end has its status, and nothing leaves a box but what is asked for.

A backend is tried at what it declares. That it isolates is declared with a word and shown where a clause can show it: a
box without a network has no other network than itself, two boxes share no file. Whether somebody can break out is not
for a test to say. Boxes must hold `/bin/sh`, `cat`, `sleep` and `yes`, and a folder that commands may write to.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import msgspec

from assay.core.error import BoxFileError, SandboxError
from assay.core.sandbox import ExecResult, Sandbox, SandboxBackend, SandboxSpec
from assay.runtime.testing.contract import Contract

T = TypeVar("T")
# What a backend may declare, as `assay.core.sandbox` lists it.
CAPABILITIES = frozenset(
    {"exec", "image", "net.none", "net.full", "cpu", "memory", "time", "history.sever", "isolation.fresh", "snapshot",
     "fork", "gpu"}
)  # fmt: skip
_SECRET = "ASSAY_TESTING_SECRET"


class Rig:
    """One event loop and one box; closed when the last clause is over."""

    def __init__(self, backend: SandboxBackend, spec: SandboxSpec, folder: str, deadline_s: float) -> None:
        self.backend = backend
        self.spec = spec
        self.folder = folder
        self.deadline_s = deadline_s
        self._runner = asyncio.Runner()
        self._box: Sandbox | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end."""
        return self._runner.run(work)

    def acquire(self, **changed: Any) -> Sandbox:
        """Return another box, which the caller closes."""
        spec = msgspec.structs.replace(self.spec, **changed)
        return self.run(self.backend.acquire(spec, self.deadline_s))

    @property
    def box(self) -> Sandbox:
        """The box that clauses share."""
        if self._box is None:
            self._box = self.acquire()
        return self._box

    def sh(self, script: str, box: Sandbox | None = None, **options: Any) -> ExecResult:
        """Run a shell script in a box, in its folder."""
        return self.run((box or self.box).exec(["/bin/sh", "-c", script], **{"cwd": self.folder, **options}))

    def put(self, path: str, data: bytes, box: Sandbox | None = None, *, mode: int = 0o644) -> None:
        """Write a file in the folder of a box."""
        self.run((box or self.box).put(f"{self.folder}/{path}", data, mode=mode))

    def get(self, path: str, box: Sandbox | None = None, *, max_bytes: int = 1 << 20) -> bytes:
        """Read a file in the folder of a box."""
        return self.run((box or self.box).get(f"{self.folder}/{path}", max_bytes=max_bytes))

    def close(self) -> None:
        """Close box and loop."""
        if self._box is not None:
            self.run(self._box.close())
        self._runner.close()


class SandboxContract(Contract):
    """What holds of a sandbox backend.

    Attributes:
        sandbox: A backend, as the hook makes it or with options of your own.
        spec: What a box is like; at least its image.
        folder: Inside a box; commands may write to it.
        deadline_s: How long a box may take to be there.
        longest_s: Bound of a command that must end by itself.
    """

    kind = "sandbox"
    sandbox: ClassVar[SandboxBackend]
    spec: ClassVar[SandboxSpec] = SandboxSpec("testing")
    folder: ClassVar[str] = "."
    deadline_s: ClassVar[float] = 60.0
    longest_s: ClassVar[float] = 20.0

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Leave out what is for objects that workers load, and what the backend does not declare."""
        declared = cls.sandbox.capabilities()
        clauses = {
            "test_box_without_a_network_has_none": "net.none" in declared,
            "test_memory_is_held_to": "memory" in declared,
            "test_cores_are_held_to": "cpu" in declared,
            "test_time_of_the_box_bounds_every_command": "time" in declared,
            "test_fork_begins_in_the_snapshot_and_forks_do_not_meet": {"snapshot", "fork"} <= declared,
            "test_reset_goes_back": "snapshot" in declared,
            "test_fingerprint_follows_the_files": "snapshot" in declared,
            "test_what_is_not_declared_is_refused": not {"snapshot", "fork"} <= declared,
        }
        return ["test_a_worker_finds_it_again", *(name for name, is_declared in clauses.items() if not is_declared)]

    def test_it_declares_what_it_can_without_asking_anybody(self) -> None:
        """Capabilities are known words, `exec` among them, and the same at every call."""
        declared = self.sandbox.capabilities()
        unknown = sorted(declared - CAPABILITIES)
        self.require(
            not unknown, f"a backend declares {', '.join(sorted(CAPABILITIES))}", got=", ".join(unknown) or None
        )
        self.require("exec" in declared, "a backend must declare `exec`", got=", ".join(sorted(declared)))
        self.require(declared == self.sandbox.capabilities(), "capabilities must stay the same")

    def test_command_has_its_input_environment_and_folder(self) -> None:
        """Standard input, the words of the environment and the folder are those given; output comes back apart."""
        rig = self._rig()
        rig.put("here/note", b"x")
        script, cwd = "cat; echo $WORD; cat note; echo oops >&2", f"{self.folder}/here"
        result = rig.sh(script, stdin=b"in\n", env={"WORD": "word"}, cwd=cwd)
        found = (result.status, result.exit_code, result.stdout, result.stderr)
        self.require(
            found == ("ok", 0, b"in\nword\nx", b"oops\n"),
            "a command must have the input, environment and folder it was given",
            got=found,
        )
        self.require(result.wall_s > 0, "a result must say how long the command ran", got=result.wall_s)

    def test_environment_of_the_host_stays_outside(self) -> None:
        """A word of this process's environment, such as a key, is not among those of a command."""
        import os

        os.environ[_SECRET] = "secret"
        try:
            said = self._rig().sh(f"echo [${_SECRET}]").stdout
        finally:
            del os.environ[_SECRET]
        self.require(said == b"[]\n", "the host's environment must stay outside the box", got=said)

    def test_every_end_has_its_status(self) -> None:
        """Success, an exit status, a signal, too much output, and a program that is not there."""
        for argv, status, codes in (
            (["/bin/sh", "-c", "true"], "ok", (0,)),
            (["/bin/sh", "-c", "exit 3"], "nonzero", (3,)),
            (["/bin/sh", "-c", "kill -9 $$"], "signal", (None,)),
            (["yes"], "output_limit", (None,)),
            (["no-such-program"], "nonzero", (126, 127)),
        ):
            result = self._rig().run(self._rig().box.exec(argv, timeout_s=self.longest_s))
            self.require(
                result.status == status and result.exit_code in codes,
                f"`{' '.join(argv)}` must end as {status} with exit code {' or '.join(map(str, codes))}",
                got=f"{result.status} with {result.exit_code}",
            )

    def test_timeout_ends_all_descendants_and_the_box_goes_on(self) -> None:
        """A command is killed at its timeout with what it started in other sessions; the next one runs.

        What fled from its parent as well must be ended by a backend that declares `isolation.fresh`.
        """
        rig = self._rig()
        child = "setsid /bin/sh -c 'while :; do echo x >> beat; sleep 0.05; done' &"
        if "isolation.fresh" in self.sandbox.capabilities():
            child = f"({child});"
        # On a busy machine the first timeout may come before the child.
        for timeout_s in (0.5, 4.0):
            result = rig.sh(f"{child} sleep 600", timeout_s=timeout_s)
            self.require(result.status == "timeout", "a command must end at its timeout", got=result.status)
            late_s = result.wall_s - timeout_s
            self.require(late_s < self.longest_s, "a timeout must end the command at once", got=f"{late_s:.1f} s late")
            one, other = (rig.sh("wc -c < beat; sleep 0.3").stdout for _ in range(2))
            if one.strip():
                break
        self.require(one.strip(), "a command must run before its timeout", got=one)
        self.require(one == other, "a timeout must end all descendants", got=f"{one!r} bytes, later {other!r}")

    def test_cancelled_command_is_ended(self) -> None:
        """Who stops waiting for a command stops the command."""
        rig = self._rig()
        box = rig.box

        async def cancel() -> None:
            work = box.exec(["/bin/sh", "-c", "while :; do echo x >> still; sleep 0.05; done"], cwd=self.folder)
            task = asyncio.ensure_future(work)
            async with asyncio.timeout(self.longest_s):
                while not (await box.exec(["cat", "still"], cwd=self.folder)).ok:
                    await asyncio.sleep(0.01)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                return

        rig.run(cancel())
        one, other = (rig.sh("wc -c < still; sleep 0.3").stdout for _ in range(2))
        self.require(
            one == other, "a command that nobody waits for must be ended", got=f"{one!r}, later {other!r} bytes"
        )

    def test_file_goes_in_and_out_whole(self) -> None:
        """Any bytes, a path with odd characters, folders that are made, and the mode asked for."""
        rig, data = self._rig(), bytes(range(256)) * 1000
        rig.put("a folder/it's.bin", data, mode=0o700)
        self.require(rig.get("a folder/it's.bin") == data, "a file must come out as it went in")
        self.require(rig.sh("test -x 'a folder/it'\"'\"'s.bin'").ok, "a file must have the mode it was given")

    def test_file_that_is_too_large_or_absent_is_an_error(self) -> None:
        """`get` raises BoxFileError, and gives no part: what ran inside left it so, and no box is lost by it."""
        rig = self._rig()
        rig.put("five", b"12345")
        for path, most in (("five", 4), ("none", 100)):
            found: bytes | SandboxError
            try:
                found = rig.get(path, max_bytes=most)
            except BoxFileError:
                continue
            except SandboxError as error:
                found = error
            self.broken("a file that is absent or too large must be a BoxFileError", got=f"{path}: {found!r}")

    def test_boxes_are_fresh_and_do_not_meet(self) -> None:
        """What one box holds, another has not; a closed box may be closed again."""
        rig = self._rig()
        rig.put("mine", b"x")
        other = rig.acquire()
        try:
            self.require(not rig.sh("test -e mine", other).ok, "a box must begin without files of another")
            rig.put("theirs", b"x", other)
            self.require(not rig.sh("test -e theirs").ok, "a box must not see the files of another")
        finally:
            rig.run(other.close())
            rig.run(other.close())

    def test_reaper_leaves_the_living_alone(self) -> None:
        """`reap` says how many boxes it removed, and none of them is in use."""
        rig = self._rig()
        rig.put("kept", b"x")
        count = rig.run(rig.backend.reap())
        self.require(isinstance(count, int) and count >= 0, "`reap` must return how many it removed", got=count)
        self.require(rig.sh("test -e kept").ok, "`reap` must leave the boxes of a living owner alone")

    def test_box_without_a_network_has_none(self) -> None:
        """With net `none` there is no device but the loopback one."""
        found = self._rig().sh("cat /proc/net/dev").stdout.decode()
        devices = [line.partition(":")[0].strip() for line in found.splitlines() if ":" in line]
        self.require(devices in (["lo"], []), "a box without a network must have no device but lo", got=devices)

    def test_memory_is_held_to(self) -> None:
        """A command that takes more than the box may have ends as `oom`."""
        rig = self._rig()
        box = rig.acquire(memory_bytes=64 << 20)
        try:
            # A shell variable that doubles up to 256 MiB, four times what the box may have.
            grow = "x=0123456789abcdef; i=0; while [ $i -lt 24 ]; do x=$x$x; i=$((i + 1)); done"
            result = rig.sh(grow, box, timeout_s=self.longest_s)
        finally:
            rig.run(box.close())
        self.require(result.status == "oom", "a command beyond its memory must end as oom", got=result.status)

    def test_cores_are_held_to(self) -> None:
        """A box of one core has one."""
        said = self._rig().sh("nproc").stdout.strip()
        # By number, or by a quota of time; where that stands depends on the version of control groups.
        files = "/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.cfs_period_us"
        quota = self._rig().sh(" || ".join(f"cat {names} 2>/dev/null" for names in files)).stdout.split()
        is_held = said == b"1" or (len(quota) == 2 and quota[0] == quota[1])
        self.require(is_held, "a box must have the cores it was given", got=f"{said!r} of 1, quota {quota}")

    def test_time_of_the_box_bounds_every_command(self) -> None:
        """Behind its time a box runs nothing."""
        rig = self._rig()
        box = rig.acquire(time_s=1.0)
        try:
            found = [rig.sh(script, box).status for script in ("sleep 600", "true")]
        except SandboxError:
            return  # the box is gone with its time, and says so
        finally:
            rig.run(box.close())
        self.require(found[0] != "ok" and found[1] != "ok", "a command must end with the time of its box", got=found)

    def test_fork_begins_in_the_snapshot_and_forks_do_not_meet(self) -> None:
        """Boxes made from a snapshot hold what it held, not what came later, and not each other's files."""
        rig = self._rig()
        rig.put("f", b"before")
        snapshot = rig.run(rig.box.snapshot())
        rig.put("f", b"after")
        one, other = rig.run(rig.box.fork(snapshot, 2))
        try:
            found = rig.get("f", one)
            self.require(found == b"before", "a fork must begin in its snapshot", got=found)
            rig.put("g", b"mine", one)
            self.require(not rig.sh("test -e g", other).ok, "forks must not see each other's files")
        finally:
            rig.run(one.close())
            rig.run(other.close())

    def test_reset_goes_back(self) -> None:
        """After `reset` a box holds no file and runs no process of before."""
        rig = self._rig()
        box = rig.acquire()
        try:
            rig.put("old", b"x", box)
            rig.run(box.reset())
            self.require(not rig.sh("test -e old", box).ok, "a box must be as its image after reset")
        finally:
            rig.run(box.close())

    def test_fingerprint_follows_the_files(self) -> None:
        """Equal files, equal fingerprint; another content, another one."""
        rig = self._rig()
        found = []
        for content in (b"one", b"two", b"one"):
            rig.put("printed", content)
            found.append(rig.run(rig.box.fingerprint()))
        self.require(found[0] != found[1], "a fingerprint must change with a file", got=found)
        self.require(found[0] == found[2], "a fingerprint must come back with the file", got=found)

    def test_what_is_not_declared_is_refused(self) -> None:
        """`snapshot` and `fork` raise SandboxError where they are not declared."""
        rig, declared = self._rig(), self.sandbox.capabilities()
        works: Mapping[str, Any] = {"snapshot": rig.box.snapshot, "fork": lambda: rig.box.fork("s", 1)}
        for word, work in works.items():
            if word in declared:
                continue
            try:
                rig.run(work())
            except SandboxError:
                continue
            self.broken(f"a backend that does not declare `{word}` must refuse it with a SandboxError")

    def _rig(self) -> Rig:
        return self.resource("rig", lambda: Rig(self.sandbox, self.spec, self.folder, self.deadline_s))

    def _described(self) -> str:
        return f"sandbox `{self.name}`"

    def _is_same(self, value: object) -> bool:
        # The hook makes a backend of its own; a test may use one with other options.
        return type(value) is type(self.sandbox)

    def _doc(self) -> str:
        return type(self.sandbox).__doc__ or ""
