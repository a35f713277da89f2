"""A verifier that asks for a box gets a fresh one, and no box outlives its call."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.error import PluginError, SandboxError
from assay.core.sandbox import ExecResult, SandboxSpec
from assay.runtime.sandbox.host import BoxHost
from assay.runtime.sandbox.process import ProcessBackend, ProcessSandbox
from assay.runtime.verify.message import Job

MakeBench = Callable[..., Any]
REF = "assay-hazard:1.0.0:assay_hazard:boxed"


class CountingBackend(ProcessBackend):
    """The trusted backend, which remembers its boxes and may fail."""

    def __init__(self, failures: int = 0, lost: int = 0) -> None:
        self.made: list[ProcessSandbox] = []
        self.failures = failures
        self.lost = lost

    async def acquire(self, spec: SandboxSpec, deadline_s: float) -> ProcessSandbox:
        if self.failures:
            self.failures -= 1
            raise SandboxError("no daemon")
        box = await super().acquire(spec, deadline_s)
        self.made.append(box)
        if self.lost:
            self.lost -= 1

            async def lose(*_: object, **__: object) -> ExecResult:
                return ExecResult("infra")

            box.exec = lose  # type: ignore[method-assign]
        return box


@pytest.fixture
def call(make_bench: MakeBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Run one answer in a box of a backend."""
    boxes = tmp_path / "boxes"
    boxes.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(boxes))

    def call(backend: CountingBackend, *answers: str, timeout_s: float | None = None, num_boxes: int = 8) -> list[Any]:
        bench = make_bench("boxed", mode="async", boxes=BoxHost(backend, num_boxes=num_boxes))
        for number, answer in enumerate(answers):
            bench.host.submit(Job(number, REF, {}, answer, None, timeout_s, SandboxSpec("any")))
        found = bench.collect(len(answers))
        bench.host.close()
        bench.host.close = lambda: None
        assert [] == [box for box in backend.made if box.folder.exists()]
        return [found[number] for number in range(len(answers))]

    return call


def test_command_runs_in_the_box_of_its_call(call: Callable[..., Any]) -> None:
    backend = CountingBackend()
    first, second = call(backend, "cat; ls; touch mine", "ls; exit 3")
    assert "ok innote\n was here" == first.measurement.signals["text"]
    assert "nonzero note\n was here" == second.measurement.signals["text"]
    assert 2 == len({box.folder for box in backend.made})


def test_backend_that_fails_once_costs_no_try(call: Callable[..., Any]) -> None:
    (outcome,) = call(CountingBackend(failures=1), "true")
    assert ("ok  was here", 1) == (outcome.measurement.signals["text"], outcome.num_tries)


def test_backend_that_is_gone_is_an_infrastructure_failure(call: Callable[..., Any]) -> None:
    (outcome,) = call(CountingBackend(failures=99), "true")
    assert (None, "infra") == (outcome.measurement, outcome.cause)
    assert "no daemon" in outcome.detail


def test_command_that_the_backend_lost_is_never_a_verdict(call: Callable[..., Any]) -> None:
    (outcome,) = call(CountingBackend(lost=1), "true")
    assert "ok  was here" == outcome.measurement.signals["text"]
    (outcome,) = call(CountingBackend(lost=99), "true")
    assert "infra" == outcome.cause


def test_box_of_a_call_that_timed_out_is_closed(call: Callable[..., Any]) -> None:
    backend = CountingBackend()
    (outcome,) = call(backend, "sleep 60", timeout_s=0.5)
    assert ("verifier_timeout", 1) == (outcome.cause, len(backend.made))


@pytest.mark.slow
def test_waiting_for_a_box_takes_no_time_of_the_verifier(call: Callable[..., Any]) -> None:
    class Slow(CountingBackend):
        async def acquire(self, spec: SandboxSpec, deadline_s: float) -> ProcessSandbox:
            await asyncio.sleep(0.7)
            return await super().acquire(spec, deadline_s)

    (outcome,) = call(Slow(), "true", timeout_s=0.5)
    assert ("ok  was here", 1) == (outcome.measurement.signals["text"], outcome.num_tries)
    assert 0.7 <= outcome.measurement.queue_s < 5.0


def test_no_more_boxes_than_allowed_are_open_at_a_time(call: Callable[..., Any]) -> None:
    class Watching(CountingBackend):
        most = 0

        async def acquire(self, spec: SandboxSpec, deadline_s: float) -> ProcessSandbox:
            box = await super().acquire(spec, deadline_s)
            self.most = max(self.most, sum(one.folder.exists() for one in self.made))
            return box

    backend = Watching()
    found = call(backend, *["true"] * 6, num_boxes=2)
    assert ["ok  was here"] * 6 == [outcome.measurement.signals["text"] for outcome in found]
    assert (2, 6) == (backend.most, len(backend.made))


def test_job_that_is_taken_back_while_it_waits_leaves_no_box(make_bench: MakeBench) -> None:
    backend = CountingBackend()
    bench = make_bench("boxed", mode="async", boxes=BoxHost(backend, num_boxes=1))
    for number in range(3):
        bench.host.submit(Job(number, REF, {}, "true", None, None, SandboxSpec("any")))
    assert {0, 1, 2} == bench.host.held()
    # Its box is asked for, and there is room for one.
    bench.host.cancel(0)
    assert {1, 2} == bench.collect(2, 20.0).keys()
    bench.host.close()
    bench.host.close = lambda: None
    assert [] == [box for box in backend.made if box.folder.exists()]


def test_verifier_that_asks_for_a_box_does_not_start_without_a_backend(make_bench: MakeBench) -> None:
    with pytest.raises(PluginError, match=r"none for hazard\.boxed"):
        make_bench("boxed", mode="async")
