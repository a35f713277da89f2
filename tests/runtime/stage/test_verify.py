"""The verify stage over a desk that says what it is told."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from assay.core.array import Array
from assay.core.episode import Episode
from assay.core.error import VerifierFault
from assay.core.message import Message
from assay.core.task import Task, TaskRef
from assay.core.trajectory import Segment, Trace, Trajectory, Turn
from assay.core.verdict import Measurement, Payout, Scored, Unscored, Verdict
from assay.core.wire import Cancel, Fault, LeaseVerify, Report, VerdictDone, VerifyFailed
from assay.runtime.stage import verify
from assay.runtime.stage.verify import VerifyStage
from assay.runtime.store.local import LocalStore

GOOD = Scored({}, Payout(1.0, True, None, {"outcome.correct": 1.0}), "d", "r")


class Desk:
    """Stands for a `GradeDesk`."""

    def __init__(self) -> None:
        self.submitted: dict[int, tuple[str, Episode]] = {}
        self.cancelled: list[int] = []
        self.waiting: set[int] = set()
        self.amiss = ""
        self.verdicts: list[tuple[int, Verdict]] = []
        self.fault: VerifierFault | None = None
        self.is_closed = False

    @property
    def is_busy(self) -> bool:
        return bool(self.submitted.keys() - self.cancelled)

    def close(self) -> None:
        self.is_closed = True

    def submit(self, key: int, entry: str, episode: Episode) -> None:
        self.submitted[key] = (entry, episode)

    def cancel(self, key: int) -> None:
        self.cancelled.append(key)

    def held(self) -> set[int]:
        return self.waiting

    def trouble(self) -> str:
        return self.amiss

    def poll(self, timeout_s: float = 0.0) -> list[tuple[int, Verdict]]:
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        verdicts, self.verdicts = self.verdicts, []
        for key, _ in verdicts:
            self.submitted.pop(key, None)
        return verdicts


class World:
    def __init__(self, folder: Path) -> None:
        self.store = LocalStore(folder, "rollout-0")
        self.desk = Desk()
        self.reports: list[Report] = []
        desk: Any = self.desk
        self.client: Any = SimpleNamespace(send=self.reports.append, waiting=())
        self.stage = VerifyStage(desk, self.store, self.client)
        ref = TaskRef("s", "train", 0)
        task = Task(ref, "local/test@1", {"expected": "yes"})
        none = Array("int32", (0,), b"")
        segment = Segment(None, none, none, Array("uint8", (0,), b""), none, none, "stop")
        turn = Turn((Message.of_text("user", "say yes"),), Message.of_text("assistant", "yes"), 0)
        played = Trajectory(101, ref, 1, (segment,), (turn,), "yes", "yes", Trace(1, 1, 1))
        self.body = self.store.put(msgspec.msgpack.encode(task))
        self.trajectory = self.store.put(msgspec.msgpack.encode(played))
        self.store.sync()

    def lease(self, number: int, max_runtime_s: float = 60.0) -> None:
        lease = LeaseVerify(number, 100 + number, "d", "auto", self.body, self.trajectory, max_runtime_s)
        self.stage.take(lease)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.stage.close()


def test_verdict_answers_its_lease(world: World) -> None:
    world.lease(1)
    assert world.stage.is_busy
    entry, episode = world.desk.submitted[1]
    assert ("d", 101, "yes", {"expected": "yes"}) == (entry, episode.id, episode.final_text, episode.task)
    assert ["say yes", "yes"] == [message.text for message in episode.messages]
    world.desk.verdicts = [(1, GOOD)]
    world.stage.work()
    (done,) = world.reports
    assert isinstance(done, VerdictDone)
    assert (1, 101, GOOD) == (done.lease, done.episode, done.verdict)
    assert not world.stage.is_busy


def test_what_cannot_be_read_is_a_failure_and_no_verdict(world: World) -> None:
    world.trajectory = msgspec.structs.replace(world.trajectory, digest="0" * 64)
    world.lease(1)
    (failed,) = world.reports
    assert isinstance(failed, VerifyFailed)
    assert (1, 101, "lost_blob") == (failed.lease, failed.episode, failed.cause)
    assert not world.stage.is_busy


def test_cancelled_verification_is_given_up(world: World) -> None:
    world.lease(1)
    world.stage.take(Cancel((1, 99)))
    assert [1] == world.desk.cancelled
    assert not world.stage.is_busy
    assert [] == world.reports


def test_verification_past_its_limit_is_unscored(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.lease(1, max_runtime_s=5.0)
    late_s = verify.time.monotonic() + 6.0
    monkeypatch.setattr(verify.time, "monotonic", lambda: late_s)
    world.stage.work()
    (done,) = world.reports
    assert isinstance(done, VerdictDone)
    assert Unscored("verifier_timeout", "no verdict after 5 s") == done.verdict
    assert [1] == world.desk.cancelled


def test_fault_that_ends_the_run_is_said_before_the_verdicts_that_came_with_it(world: World) -> None:
    world.lease(1)
    world.desk.fault = VerifierFault("a verifier whose failure ends the run must not fail")
    world.desk.verdicts = [(1, GOOD)]
    world.stage.work()
    fault, done = world.reports
    assert Fault("a verifier whose failure ends the run must not fail", is_fatal=True) == fault
    assert isinstance(done, VerdictDone)


def test_time_of_people_is_no_time_of_machines(world: World) -> None:
    lease = LeaseVerify(1, 101, "d", "human", world.body, world.trajectory, 60.0)
    world.stage.take(lease)
    measured = {
        "fast": Measurement("a:1:m:f", 1, {"equal": True}, 0.25),
        "ann": Measurement("a:1:m:h", 1, {"mark": 1.0}, 9e3),
    }
    world.desk.verdicts = [(1, msgspec.structs.replace(GOOD, measurements=measured))]
    world.stage.work()
    (done,) = world.reports
    assert isinstance(done, VerdictDone)
    assert 0.25 == done.wall_s


def test_time_of_a_verification_that_waits_for_a_judge_stands_still(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.lease(1, max_runtime_s=5.0)
    world.lease(2, max_runtime_s=5.0)
    world.stage.work()
    world.desk.waiting = {1}
    late_s = verify.time.monotonic() + 6.0
    monkeypatch.setattr(verify.time, "monotonic", lambda: late_s)
    world.stage.work()
    assert [2] == world.desk.cancelled
    assert (1,) == world.client.waiting
    world.desk.waiting = set()
    monkeypatch.setattr(verify.time, "monotonic", lambda: late_s + 4.0)
    world.stage.work()
    assert [2] == world.desk.cancelled
    monkeypatch.setattr(verify.time, "monotonic", lambda: late_s + 6.0)
    world.stage.work()
    assert [2, 1] == world.desk.cancelled
    assert () == world.client.waiting


def test_waiting_for_a_judge_is_no_work_of_its_verdict(world: World) -> None:
    world.lease(1)
    waited = Measurement("d:1:m:o", 1, {}, 3600.0, 0.01, 1, 0, 3599.9)
    world.desk.verdicts = [(1, msgspec.structs.replace(GOOD, measurements={"m": waited}))]
    world.stage.work()
    (done,) = world.reports
    assert isinstance(done, VerdictDone)
    assert 0.0 == done.wall_s


def test_judge_that_is_away_is_told_of_once_and_its_return_too(world: World) -> None:
    world.lease(1)
    world.stage.work()
    assert [] == world.reports
    world.desk.waiting, world.desk.amiss = {1}, "the judge has been away for 5 s: no route"
    for _ in range(3):
        world.stage.work()
    world.desk.amiss = ""
    for _ in range(2):
        world.stage.work()
    expected = [Fault("the judge has been away for 5 s: no route; episodes that wait: 1"), Fault("the judge is back")]
    assert expected == world.reports
