"""A backend that breaks a clause is told so; the one that Assay brings breaks none."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.runtime.testing.clause import unseen

import assay
from assay.core.error import BoxFileError, SandboxError
from assay.core.registry import Registry
from assay.core.sandbox import ExecResult, SandboxSpec
from assay.runtime.sandbox.process import ProcessBackend, ProcessSandbox
from assay.runtime.verify.descent import kill
from assay.testing import SandboxContract


class WrongBox(ProcessSandbox):
    """A box with one fault."""

    def __init__(self, folder: Path, deadline: float, cpus: frozenset[int], fault: str) -> None:
        super().__init__(folder, deadline, cpus)
        self.fault = fault

    async def exec(self, argv: Sequence[str], **options: Any) -> ExecResult:
        match self.fault:
            case "deaf":
                options["stdin"] = b""
            case "chatty":
                options["env"] = {**os.environ, **(options.get("env") or {})}
            case "numb":
                result = await super().exec(argv, **options)
                return msgspec.structs.replace(result, status="ok" if result.ok else "nonzero")
            case "loose":
                return await self._loose(argv, **options)
            case "stubborn":
                return await asyncio.shield(asyncio.ensure_future(super().exec(argv, **options)))
            case "eternal":
                self.deadline = float("inf")
                options["timeout_s"] = min(options.get("timeout_s") or 60.0, 1.2)
        return await super().exec(argv, **options)

    async def _loose(self, argv: Sequence[str], *, timeout_s: float | None = None, **options: Any) -> ExecResult:
        """Kill what runs too long, and nothing that it started."""
        try:
            ran = subprocess.run(argv, cwd=self.folder, stdout=subprocess.PIPE, timeout=timeout_s or 10.0, check=False)
        except subprocess.TimeoutExpired:
            return ExecResult("timeout")
        return ExecResult("nonzero" if ran.returncode else "ok", ran.returncode, ran.stdout)

    async def put(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        await super().put(path, data.replace(b"\r", b"") if self.fault == "textual" else data, mode=mode)

    async def get(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        if self.fault == "blaming":
            try:
                return await super().get(path, max_bytes=max_bytes)
            except BoxFileError as error:
                raise SandboxError("the engine must answer", got=error) from None
        return (
            (await super().get(path))[:max_bytes]
            if self.fault == "cutting"
            else await super().get(path, max_bytes=max_bytes)
        )

    async def snapshot(self) -> str:
        return tempfile.mkdtemp(dir=self.folder)

    async def fork(self, snapshot: str, n: int) -> list[Any]:
        return [WrongBox(self.folder, self.deadline, self.cpus, "") for _ in range(n)]

    async def reset(self, to: str | None = None) -> None:
        pass

    async def fingerprint(self) -> str:
        return "the same"


class WrongBackend(ProcessBackend):
    """A backend with one fault.

    Args:
        fault: Which.
        more: What it declares beyond its parent.
    """

    name = "wrong"

    def __init__(self, fault: str, more: tuple[str, ...] = ()) -> None:
        self.fault = fault
        self.more = more
        self.boxes: list[WrongBox] = []
        self.folder = tempfile.mkdtemp()

    def capabilities(self) -> frozenset[str]:
        declared = super().capabilities() | set(self.more)
        return declared - {"exec"} if self.fault == "idle" else declared

    async def acquire(self, spec: SandboxSpec, deadline_s: float) -> WrongBox:
        made = await super().acquire(msgspec.structs.replace(spec, memory_bytes=None), deadline_s)
        folder = Path(self.folder) if self.fault == "shared" else made.folder
        cpus = frozenset(os.sched_getaffinity(0)) if self.fault == "greedy" else made.cpus
        box = WrongBox(folder, made.deadline, cpus, self.fault)
        self.boxes.append(box)
        return box

    async def reap(self) -> int:
        if self.fault == "reaping":
            for box in self.boxes:
                (box.folder / "kept").unlink(missing_ok=True)
        return len(self.boxes)


def at_work_in(folder: Path) -> list[int]:
    """Return the processes whose working folder this is."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "cwd").startswith(str(folder)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def contract_of(backend: WrongBackend) -> type[SandboxContract]:
    registry = Registry()
    registry.add(SimpleNamespace(assay_sandboxes=assay.hookimpl(lambda: [WrongBackend("")])), "assay-wrong", "1.0")
    return SandboxContract.of(backend, registry=registry, longest_s=5.0)


BRANCHING = ("snapshot", "fork")
WRONG: list[tuple[str, tuple[str, ...], str, str]] = [
    ("", ("teleport",), "test_it_declares_what_it_can_without_asking_anybody", "got teleport"),
    ("idle", (), "test_it_declares_what_it_can_without_asking_anybody", "must declare `exec`, got cpu, time"),
    ("deaf", (), "test_command_has_its_input_environment_and_folder", "got ('ok', 0, b'word"),
    ("chatty", (), "test_environment_of_the_host_stays_outside", "got b'[secret]"),
    ("numb", (), "test_every_end_has_its_status", "`/bin/sh -c kill -9 $$` must end as signal with exit code None"),
    ("loose", (), "test_timeout_ends_all_descendants_and_the_box_goes_on", "a timeout must end all descendants, got"),
    ("stubborn", (), "test_cancelled_command_is_ended", "a command that nobody waits for must be ended, got"),
    ("textual", (), "test_file_goes_in_and_out_whole", "a file must come out as it went in"),
    ("cutting", (), "test_file_that_is_too_large_or_absent_is_an_error", "got five: b'1234'"),
    ("blaming", (), "test_file_that_is_too_large_or_absent_is_an_error", "must be a BoxFileError, got five: Sandbox"),
    ("shared", (), "test_boxes_are_fresh_and_do_not_meet", "a box must begin without files of another"),
    ("reaping", (), "test_reaper_leaves_the_living_alone", "must leave the boxes of a living owner alone"),
    ("", ("net.none",), "test_box_without_a_network_has_none", "no device but lo, got ["),
    ("", ("memory",), "test_memory_is_held_to", "beyond its memory must end as oom, got "),
    ("greedy", (), "test_cores_are_held_to", "must have the cores it was given, got"),
    ("eternal", (), "test_time_of_the_box_bounds_every_command", "with the time of its box, got ['timeout', 'ok']"),
    ("", BRANCHING, "test_fork_begins_in_the_snapshot_and_forks_do_not_meet", "a fork must begin in its snapshot"),
    ("", BRANCHING, "test_reset_goes_back", "must be as its image after reset"),
    ("", BRANCHING, "test_fingerprint_follows_the_files", "a fingerprint must change with a file"),
    ("", (), "test_what_is_not_declared_is_refused", "does not declare `snapshot` must refuse it with a SandboxError"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "more", "clause", "said"), WRONG)
def test_wrong_backend_breaks_its_clause(
    fault: str, more: tuple[str, ...], clause: str, said: str, breaks: Any
) -> None:
    backend = WrongBackend(fault, more)
    try:
        message = breaks(contract_of(backend), clause)
    finally:
        for box in backend.boxes:
            for pid in at_work_in(box.folder):
                kill(pid)
            shutil.rmtree(box.folder, ignore_errors=True)
        shutil.rmtree(backend.folder, ignore_errors=True)
    assert said in message
    assert "at sandbox `wrong` of assay-wrong 1.0" in message


def test_every_clause_was_seen_red() -> None:
    assert set() == unseen(SandboxContract, [clause for _, _, clause, _ in WRONG])
