"""The rollout stage against a stub engine: leases, weights, evaluations, cancels."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from assay.core.array import Array
from assay.core.engine import Completion, GenerateRequest
from assay.core.error import EngineError
from assay.core.message import Message
from assay.core.task import Task, TaskRef
from assay.core.trajectory import Trajectory, WeightVersion
from assay.core.wire import Cancel, EpisodeDone, EpisodeFailed, LeaseEpisode, Report, UseWeights, Weights
from assay.dsl.program import EpisodeSpec
from assay.runtime.launch.stub import StubChat, StubEngine
from assay.runtime.stage import rollout
from assay.runtime.stage.rollout import RolloutStage
from assay.runtime.store.local import LocalStore


class SlowEngine(StubEngine):
    """A stub whose requests finish when they are told to."""

    def __init__(self) -> None:
        super().__init__("yes")
        self.is_open = False
        self.requests: list[GenerateRequest] = []
        self.aborted: list[int] = []
        self.refused: set[WeightVersion] = set()

    def submit(self, request: GenerateRequest) -> None:
        self.requests.append(request)
        super().submit(request)

    def poll(self, timeout_s: float = 0.0) -> list[Completion]:
        return super().poll() if self.is_open else []

    def abort(self, request_id: int) -> None:
        self.aborted.append(request_id)
        super().abort(request_id)

    def update_weights(self, folder: Path, version: WeightVersion) -> None:
        if version in self.refused:
            raise EngineError("a buffer must hold that version")
        super().update_weights(folder, version)


class Outbox:
    """Stands for a client."""

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def send(self, report: Report) -> None:
        self.reports.append(report)


PROGRAM = SimpleNamespace(
    identity="local/test@1",
    system=None,
    prompt="{question}",
    answer=None,
    episode=EpisodeSpec(max_tokens=16),
    params={},
)
PLAN = SimpleNamespace(entries=(SimpleNamespace(name="d", program=PROGRAM, leaves={}),), policy="start")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Any]:
    class World:
        def __init__(self) -> None:
            self.store = LocalStore(tmp_path, "rollout-0")
            plan: Any = PLAN
            client: Any
            self.engine, self.outbox = SlowEngine(), Outbox()
            client = self.outbox
            self.stage = RolloutStage(plan, self.engine, StubChat(), self.store, client)
            ref = TaskRef("s", "train", 0)
            task = Task(ref, "local/test@1", {"question": "say yes"})
            self.body = self.store.put(msgspec.msgpack.encode(task))
            self.store.sync()
            self.ref = ref

        def use(self, step: int) -> None:
            self.stage.take(UseWeights(Weights(WeightVersion(0, step), "weights")))

        def lease(self, number: int, oldest: int = 0, pinned: int | None = None) -> None:
            pin = None if pinned is None else WeightVersion(0, pinned)
            self.stage.take(
                LeaseEpisode(number, 100 + number, 1, 0, "d", self.ref, self.body, 5, WeightVersion(0, oldest), pin, 60)
            )

    world = World()
    yield world
    world.store.close()


def test_finished_episode_is_durable_before_its_result(world: Any) -> None:
    world.use(3)
    world.lease(1)
    world.stage.work()
    world.engine.is_open = True
    world.stage.work()
    (done,) = world.outbox.reports
    assert isinstance(done, EpisodeDone)
    assert (1, 101, WeightVersion(0, 3)) == (done.lease, done.episode, done.version)
    reader = LocalStore(world.store._folder)
    found = msgspec.msgpack.decode(reader.get(done.trajectory), type=Trajectory)
    reader.close()
    assert "yes" == found.final_text == found.answer
    assert Message.of_text("user", "say yes") == found.turns[0].prompt[0]
    assert not found.trace.truncated


def test_no_episode_begins_before_there_are_weights(world: Any) -> None:
    world.lease(1)
    world.stage.work()
    assert [] == world.engine.requests
    world.use(0)
    world.stage.work()
    assert 1 == len(world.engine.requests)


def test_stale_weights_are_refused_until_newer_ones_come(world: Any) -> None:
    world.use(3)
    world.lease(1, oldest=4)
    world.stage.work()
    assert [] == world.engine.requests
    world.use(4)
    world.stage.work()
    assert [1] == [request.request_id for request in world.engine.requests]


def test_weights_wait_while_an_evaluation_is_sampled(world: Any) -> None:
    world.use(3)
    world.lease(1, pinned=3)
    world.stage.work()
    world.use(4)
    world.stage.work()
    assert WeightVersion(0, 3) == world.engine.version
    world.engine.is_open = True
    world.stage.work()
    world.stage.work()
    assert WeightVersion(0, 4) == world.engine.version
    assert WeightVersion(0, 3) == world.outbox.reports[0].version


def test_evaluation_is_greedy_and_training_is_not(world: Any) -> None:
    world.use(3)
    world.lease(1)
    world.lease(2, pinned=3)
    world.stage.work()
    assert [1.0, 0.0] == [request.sampling.temperature for request in world.engine.requests]
    assert [5, 5] == [request.sampling.seed for request in world.engine.requests]


def test_pin_on_weights_that_are_gone_fails_and_is_said(world: Any) -> None:
    world.use(3)
    world.lease(1, pinned=2)
    world.stage.work()
    (failed,) = world.outbox.reports
    assert EpisodeFailed(1, 101, "engine", "weights 0.2 are gone, at 0.3") == failed


def test_overwritten_version_is_skipped_for_the_next(world: Any) -> None:
    world.use(3)
    world.stage.work()
    world.engine.refused = {WeightVersion(0, 4)}
    world.use(4)
    world.stage.work()
    assert WeightVersion(0, 3) == world.engine.version
    world.use(5)
    world.stage.work()
    assert WeightVersion(0, 5) == world.engine.version


def test_cancelled_episode_has_no_result(world: Any) -> None:
    world.use(3)
    world.lease(1)
    world.stage.work()
    world.stage.take(Cancel((1,)))
    world.engine.is_open = True
    world.stage.work()
    assert [1] == world.engine.aborted
    assert [] == world.outbox.reports
    assert not world.stage.is_busy


def test_episode_that_takes_too_long_is_given_up(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.use(3)
    world.lease(1)
    world.stage.work()
    late_s = rollout.time.monotonic() + 61
    monkeypatch.setattr(rollout.time, "monotonic", lambda: late_s)
    world.stage.work()
    (failed,) = world.outbox.reports
    assert (1, "timeout") == (failed.lease, failed.cause)
    assert [1] == world.engine.aborted


def test_task_without_a_body_fails_as_lost(world: Any) -> None:
    world.use(3)
    world.body = msgspec.structs.replace(world.body, digest="0" * 64)
    world.lease(1)
    world.stage.work()
    (failed,) = world.outbox.reports
    assert (1, "lost_blob") == (failed.lease, failed.cause)


def test_truncated_episode_is_a_result(world: Any) -> None:
    world.engine._ids = [ord("y")] * 40
    world.use(3)
    world.lease(1)
    world.engine.is_open = True
    world.stage.work()
    (done,) = world.outbox.reports
    assert isinstance(done, EpisodeDone)
    assert done.trace.truncated
    assert 16 == done.trace.tokens == done.num_trained_tokens


def test_array_of_probe_is_stable() -> None:
    from assay.runtime.stage.__main__ import probe_sequences

    first, second = probe_sequences(50, 64), probe_sequences(50, 64)
    assert first == second
    assert all(isinstance(one, Array) and max(one.to_list()) < 50 for one in first)
