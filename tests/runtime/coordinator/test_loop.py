"""The loop: what it does between a frame and an answer, in which order, and what it survives."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fake_stage
import msgspec
import pytest
import zmq
from coordinator_world import entry, spec

from assay.core.error import ConfigError, StoreError
from assay.core.lifecycle import Counts
from assay.core.trajectory import WeightVersion
from assay.core.wire import (
    Ack,
    Hello,
    Order,
    Resume,
    Stop,
    Take,
    TasksReady,
    Weights,
    WeightsPublished,
    decode_orders,
    encode_reports,
)
from assay.runtime.coordinator.ledger import read_only
from assay.runtime.coordinator.loop import Loop, run_coordinator
from assay.runtime.coordinator.spec import RunSpec, StageSpec
from assay.runtime.coordinator.status import Status
from assay.runtime.wire.client import Client


class Peer:
    """A raw DEALER."""

    def __init__(self, address: str, context: "zmq.Context[zmq.Socket[bytes]]") -> None:
        self.socket = context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.connect(address)

    def say(self, *reports: Any) -> None:
        self.socket.send(encode_reports(list(reports)))

    def hear(self) -> list[Order]:
        orders: list[Order] = []
        while self.socket.poll(0):
            orders.extend(decode_orders(self.socket.recv()))
        return orders


@pytest.fixture
def context() -> Iterator["zmq.Context[zmq.Socket[bytes]]"]:
    made: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    yield made
    made.term()


@pytest.fixture
def peer(context: "zmq.Context[zmq.Socket[bytes]]") -> Iterator[Peer]:
    made = Peer("inproc://c", context)
    yield made
    made.socket.close()


@pytest.fixture
def make_loop(tmp_path: Path, context: "zmq.Context[zmq.Socket[bytes]]") -> Iterator[Callable[..., Loop]]:
    made: list[Loop] = []

    def make(run: RunSpec | None = None) -> Loop:
        made.append(Loop(tmp_path, run or small(), address="inproc://c", context=context))
        return made[-1]

    yield make
    for loop in made:
        loop.close()


def small() -> RunSpec:
    return spec(entries=(entry("a"),), phases=(StageSpec("rl", "rl", batch=2, steps=3),), heartbeat_s=0.05)


HELLO = (0, Hello("source", "source-0", 1, (1, 1), "plan", {"slots": 1.0}))
TASKS = TasksReady(9, "a", "train", ())


def test_result_is_acknowledged_only_after_its_commit(
    tmp_path: Path, make_loop: Any, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = make_loop()
    peer.say(HELLO)
    loop.turn()
    peer.hear()
    done: list[str] = []
    commit, send = loop._ledger.commit, loop._server.send

    def note_commit(writes: Any) -> int:
        done.append("commit")
        return commit(writes)

    def note_send(orders: Any) -> None:
        done.extend("ack" for items in orders.values() for order in items if isinstance(order, Ack))
        send(orders)

    monkeypatch.setattr(loop._ledger, "commit", note_commit)
    monkeypatch.setattr(loop._server, "send", note_send)
    peer.say((1, TASKS))
    loop.turn()
    assert ["commit", "ack"] == done
    assert [Ack((1,))] == [order for order in peer.hear() if isinstance(order, Ack)]


def test_result_is_not_acknowledged_where_the_commit_fails(
    tmp_path: Path, make_loop: Any, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = make_loop()
    peer.say(HELLO)
    loop.turn()
    peer.hear()

    def full(writes: Any) -> int:
        raise StoreError("the ledger must take every row", got="disk is full")

    monkeypatch.setattr(loop._ledger, "commit", full)
    peer.say((1, TASKS))
    with pytest.raises(StoreError, match="disk is full"):
        loop.run()
    heard = peer.hear()
    assert [] == [order for order in heard if isinstance(order, Ack)]
    assert any(isinstance(order, Stop) and "disk is full" in order.reason for order in heard)


def test_malformed_frames_are_counted_and_the_loop_goes_on(tmp_path: Path, make_loop: Any, peer: Peer) -> None:
    loop = make_loop()
    peer.socket.send(b"\xc1\xff")
    peer.socket.send_multipart([b"", b"two frames"])
    peer.socket.send(encode_reports([HELLO])[:-3])
    peer.say(HELLO)
    loop.turn()
    assert 3 == loop._server.num_malformed
    assert "Welcome" in {type(order).__name__ for order in peer.hear()}


def test_status_file_tells_where_the_run_stands(tmp_path: Path, make_loop: Any, peer: Peer) -> None:
    loop = make_loop()
    peer.say(HELLO)
    loop.turn()
    loop.close()
    told = msgspec.json.decode((tmp_path / "status.json").read_bytes(), type=Status)
    assert ("rl", {"source": 1}, Counts(dropped={})) == (told.phase, told.workers, told.counts)


def test_policy_that_raises_ends_the_run_and_stands_in_the_ledger(tmp_path: Path, make_loop: Any, peer: Peer) -> None:
    class Raising:
        def holds(self, view: Any) -> bool:
            raise ValueError("oops")

    run = spec(entries=(entry("a", unlock=Raising()),), phases=(StageSpec("rl", "rl", batch=2, steps=3),))
    loop = make_loop(run)
    peer.say((0, Hello("update", "update-0", 1, (1, 1), "plan", {})), (1, Resume(0)))
    peer.say((2, WeightsPublished(Weights(WeightVersion(0, 0), "w"))), (3, Take(0, 1)))
    with pytest.raises(Exception, match="a rule must not raise, got ValueError"):
        loop.run()
    db = read_only(tmp_path / "ledger.sqlite")
    assert 1 == db.execute("SELECT COUNT(*) FROM log WHERE what = 'failed' AND detail LIKE '%oops%'").fetchone()[0]
    db.close()


def test_ledger_of_another_plan_is_refused_and_left_alone(tmp_path: Path, make_loop: Any, context: Any) -> None:
    make_loop().close()
    other = msgspec.structs.replace(small(), plan_digest="another")
    with pytest.raises(StoreError, match="must belong to the plan that resumes it"):
        Loop(tmp_path, other, address="inproc://d", context=context)


def test_folder_without_room_for_a_ledger_is_refused(tmp_path: Path, context: Any) -> None:
    with pytest.raises(StoreError, match="a writable SQLite file"):
        Loop(tmp_path / "absent", small(), address="inproc://c", context=context)


def test_bind_beyond_the_machine_without_keys_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="CURVE"):
        run_coordinator(tmp_path, small(), address="tcp://0.0.0.0:5555")


def test_inline_run_in_one_process_over_inproc_finishes(tmp_path: Path, context: Any) -> None:
    clients = [
        Client(
            "inproc://run", role=role, worker=f"{role}-0", plan_digest="fake", capacity={"slots": 4.0}, context=context
        )
        for role in ("source", "rollout", "verify", "update")
    ]

    def serve(client: Client) -> None:
        with client:
            (fake_stage.train if client.role == "update" else fake_stage.work)(client, tmp_path, 0.0)

    threads = [threading.Thread(target=serve, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    finish = run_coordinator(
        tmp_path, fake_stage.spec(steps=2), address="inproc://run", context=context, should_validate=True
    )
    for thread in threads:
        thread.join(10)
    assert (0, "finished") == (finish.code, finish.reason)
