"""Boxes for a loop that must not wait: as many as allowed, as patient as told, none left behind."""

import asyncio
import errno
import select
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.error import SandboxError
from assay.core.sandbox import SandboxSpec
from assay.runtime.sandbox.host import BoxAnswer, BoxHost
from assay.runtime.sandbox.process import ProcessBackend, ProcessSandbox

SPEC = SandboxSpec("any")


class Backend(ProcessBackend):
    """The trusted backend, which fails as often as told and closes its boxes when told."""

    def __init__(self, failures: int = 0, error: type[Exception] = SandboxError) -> None:
        self.failures = failures
        self.error = error
        self.made: list[Path] = []
        self.may_close = asyncio.Event()
        self.may_close.set()

    async def acquire(self, spec: SandboxSpec, deadline_s: float) -> ProcessSandbox:
        if self.failures:
            self.failures -= 1
            raise self.error("no daemon")
        box = await super().acquire(spec, deadline_s)
        self.made.append(box.folder)
        close = box.close

        async def close_when_told() -> None:
            await self.may_close.wait()
            await close()

        box.close = close_when_told  # type: ignore[method-assign]
        return box


def host_of(backend: Backend, **options: float) -> BoxHost:
    return BoxHost(backend, **options)  # type: ignore[arg-type]


def wait(host: BoxHost) -> list[BoxAnswer]:
    """Wait for something to come."""
    assert select.select([host], [], [], 10.0)[0]
    return host.answers()


@pytest.fixture
def backend() -> Iterator[Backend]:
    made = Backend()
    yield made
    assert [] == [folder for folder in made.made if folder.exists()]


def test_opened_box_is_the_one_that_calls_go_to(backend: Backend) -> None:
    host = host_of(backend)
    host.open(7, SPEC, -1)
    assert [BoxAnswer(7, -1)] == wait(host)
    host.ask(7, SPEC, 1, 0, "put", {"path": "a", "data": b"x", "mode": 0o644})
    wait(host)
    host.ask(7, SPEC, 2, 0, "get", {"path": "a", "max_bytes": 9})
    assert [BoxAnswer(7, 2, b"x")] == wait(host)
    assert 1 == len(backend.made)
    host.close()


def test_box_that_is_being_closed_still_takes_its_place(backend: Backend) -> None:
    backend.may_close.clear()
    host = host_of(backend, num_boxes=1)
    assert host.has_room
    host.open(1, SPEC, -1)
    assert not host.has_room
    wait(host)
    host.release(1)
    host.release(1)
    assert not host.has_room
    host._loop.call_soon_threadsafe(backend.may_close.set)
    wait(host)
    assert host.has_room
    host.close()


def test_backend_that_fails_is_asked_again_while_patience_lasts() -> None:
    host = host_of(Backend(failures=2), patience_s=30.0)
    host.open(1, SPEC, -1)
    assert [BoxAnswer(1, -1)] == wait(host)
    host.close()


@pytest.mark.parametrize(
    ("error", "said"), [(SandboxError, "no daemon"), (ZeroDivisionError, "ZeroDivisionError: no daemon")]
)
def test_backend_that_has_no_box_is_an_infrastructure_failure(error: type[Exception], said: str) -> None:
    host = host_of(Backend(failures=9, error=error))
    host.open(1, SPEC, -1)
    assert [BoxAnswer(1, -1, None, said, is_infra=True)] == wait(host)
    host.close()


def test_box_that_comes_after_its_release_is_closed(backend: Backend) -> None:
    host = host_of(backend)
    for key in range(20):
        host.open(key, SPEC, -1)
        host.release(key)
    deadline = time.monotonic() + 10
    while not host.has_room:
        assert time.monotonic() < deadline
        wait(host)
    host.close()


def test_backend_that_stays_out_of_order_makes_jobs_wait_once() -> None:
    backend = Backend(failures=10_000)
    host = host_of(backend, patience_s=0.25)
    for key in range(3):
        host.open(key, SPEC, -1 - key)
        (answer,) = wait(host)
        assert answer.is_infra
    # One that asks after the patience is over is refused at the first failure, and so is the next.
    left = backend.failures
    host.open(9, SPEC, -9)
    wait(host)
    assert left - 1 == backend.failures
    host.close()


@pytest.mark.parametrize(
    ("method", "given", "is_infra"),
    [
        ("get", {"path": "none"}, False),
        ("get", {"path": "../none"}, False),
        ("get", {"path": "a\0"}, False),
        ("put", {"path": "x/a", "data": b"x" * 2_000_000}, True),
        ("fingerprint", {}, True),
        ("exec", {"argv": 7}, False),
    ],
)
def test_every_call_has_an_answer_and_only_the_backends_failures_are_its(
    method: str, given: dict[str, object], is_infra: bool, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(path: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", no_room)
    host = host_of(backend)
    host.ask(1, SPEC, 5, 0, method, given)
    (answer,) = wait(host)
    assert (5, is_infra) == (answer.call_id, answer.is_infra), answer
    assert answer.error
    host.close()


def test_backend_that_raises_anything_leaves_no_call_without_an_answer(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: ProcessSandbox, path: str, *, max_bytes: int = 0) -> bytes:
        raise ZeroDivisionError("bug")

    monkeypatch.setattr(ProcessSandbox, "get", broken)
    host = host_of(backend)
    host.ask(1, SPEC, 5, 0, "get", {"path": "a"})
    assert [BoxAnswer(1, 5, None, "ZeroDivisionError: bug", is_infra=True)] == wait(host)
    host.close()


def test_box_that_cannot_be_closed_keeps_no_other_open(backend: Backend) -> None:
    host = host_of(backend)
    host.open(1, SPEC, -1)
    wait(host)
    boxes = host._boxes[1]

    class Broken:
        async def close(self) -> None:
            raise ZeroDivisionError("bug")

    boxes.insert(0, Broken())  # type: ignore[arg-type]
    host.close()
