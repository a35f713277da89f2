"""Client and server: what arrives, what is sent again, and who is let in."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from assay.core.error import ConfigError, WireError
from assay.core.group import Batch
from assay.core.trajectory import WeightVersion
from assay.core.wire import (
    Ack,
    BatchReady,
    Goodbye,
    Heartbeat,
    Hello,
    LeaseTasks,
    Refused,
    Report,
    Resume,
    Stop,
    Take,
    TasksReady,
    UseWeights,
    Weights,
    Welcome,
    WhoAreYou,
)
from assay.runtime.wire.client import Client
from assay.runtime.wire.server import MAX_IPC_PATH, Curve, Server, check_address, socket_address

Talk = list[tuple[int, Report]]


class Host:
    """A server that a test speaks for."""

    def __init__(self, address: str, **options: Any) -> None:
        self.server = Server(address, **options)
        self.peer = b""

    def hear(self, kind: type | None = None, tries: int = 200) -> Talk:
        """Return what comes next; with `kind`, everything up to a report of that kind."""
        heard: Talk = []
        for _ in range(tries):
            for peer, sequence, report in self.server.drain(0.05):
                self.peer = peer
                heard.append((sequence, report))
            if heard and (kind is None or any(isinstance(report, kind) for _, report in heard)):
                return heard
        raise AssertionError(f"nothing of {kind} came, only {heard}")

    def say(self, *orders: Any) -> None:
        self.server.send({self.peer: list(orders)})


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(f"ipc://{tmp_path}/s")
    yield made
    made.server.close()


@pytest.fixture
def client(host: Host, tmp_path: Path) -> Iterator[Client]:
    made = Client(f"ipc://{tmp_path}/s", role="source", worker="source-0", plan_digest="p")
    yield made
    made.close(timeout_s=0.0)


def test_worker_says_who_it_is_before_anything_else(host: Host, client: Client) -> None:
    client.send(Resume(0))
    heard = host.hear(Resume)
    assert Hello("source", "source-0", os.getpid(), (1, 1), "p", {"slots": 1.0}) == heard[0][1]
    assert (1, Resume(0)) == heard[1]


def test_report_is_sent_again_until_it_is_acknowledged(host: Host, client: Client) -> None:
    host.hear(Hello)
    host.say(Welcome(1, 0, 0.05))
    client.send(Resume(3))
    assert (1, Resume(3)) in host.hear(Resume)
    assert (1, Resume(3)) in host.hear(Resume)
    host.say(Ack((1,)))
    assert client.flush(5.0)
    host.server.drain(0.1)
    beats = host.hear(Heartbeat) + host.hear(Heartbeat) + host.hear(Heartbeat)
    assert [] == [report for _, report in beats if isinstance(report, Resume)]


def test_lease_is_held_from_its_order_until_its_answer_is_acknowledged(host: Host, client: Client) -> None:
    host.hear(Hello)
    host.say(Welcome(1, 0, 0.05), LeaseTasks(7, "a", "train", (1,)))
    assert (7,) == held(host)
    client.send(TasksReady(7, "a", "train", ()))
    host.hear(TasksReady)
    assert (7,) == held(host)
    host.say(Ack((1,)))
    assert client.flush(5.0)
    host.server.drain(0.1)
    assert () == held(host)


def held(host: Host) -> tuple[int, ...]:
    return next(report for _, report in host.hear(Heartbeat) if isinstance(report, Heartbeat)).held


def test_coordinator_that_forgot_a_worker_hears_everything_again(host: Host, client: Client) -> None:
    host.hear(Hello)
    host.say(LeaseTasks(7, "a", "train", (1,)))
    client.send(Resume(0))
    client.send(Take(0, 1))
    host.hear(Take)
    while not client.poll(1.0):
        pass
    host.say(WhoAreYou())
    heard = host.hear(Take)
    assert isinstance(heard[0][1], Hello)
    assert (7,) == tuple(item.lease for item in heard[0][1].held)
    assert [(1, Resume(0)), (2, Take(0, 1))] == heard[1:3]


def test_reports_that_wait_together_travel_in_one_frame(host: Host, client: Client) -> None:
    host.hear(Hello)
    frames: list[int] = []
    drain = host.server.socket.recv_multipart
    with client._lock:
        pass
    for step in range(100):
        client.send(Resume(step))
    heard = 0
    while heard < 100:
        if host.server.socket.poll(1000):
            from assay.core.wire import decode_reports

            count = sum(isinstance(report, Resume) for _, report in decode_reports(drain()[1]))
            frames.append(count)
            heard += count
    assert 100 == sum(frames)
    assert len(frames) < 100


def test_take_is_acknowledged_by_its_batch_alone(host: Host, client: Client) -> None:
    host.hear(Hello)
    client.send(Take(0, 1))
    host.hear(Take)
    host.say(BatchReady(Batch(2, "rl", ()), 0, "rl", 1, 1))
    assert not client.flush(0.05)
    host.say(BatchReady(Batch(1, "rl", ()), 0, "rl", 1, 1))
    assert client.flush(5.0)


def test_stop_ends_waiting_for_a_batch(host: Host, client: Client) -> None:
    host.hear(Hello)
    client.send(Take(0, 1))
    host.hear(Take)
    host.say(Stop("finished"))
    assert client.flush(5.0)
    assert client.is_stopped


def test_refused_worker_learns_why(host: Host, client: Client) -> None:
    host.hear(Hello)
    host.say(Refused("another plan"))
    with pytest.raises(WireError, match="another plan"):
        while True:
            client.poll(1.0)


def test_orders_come_in_order(host: Host, client: Client) -> None:
    host.hear(Hello)
    orders = [UseWeights(Weights(WeightVersion(0, step), "w")) for step in range(300)]
    host.say(*orders)
    got: list[Any] = []
    while len(got) < 300:
        got.extend(client.poll(1.0))
    assert orders == got


def test_malformed_frame_of_orders_is_counted(host: Host, client: Client) -> None:
    host.hear(Hello)
    host.server.socket.send_multipart([host.peer, b"\xc1"])
    host.say(Stop("end"))
    while not client.poll(1.0):
        pass
    assert 1 == client.num_malformed


def test_close_says_goodbye_after_the_last_report(host: Host, tmp_path: Path) -> None:
    with Client(f"ipc://{tmp_path}/s", role="source", worker="source-1", plan_digest="p") as leaving:
        leaving.send(Resume(0))
        host.hear(Resume)
        host.say(Ack((1,)))
    assert Goodbye("") == host.hear(Goodbye)[-1][1]


@pytest.mark.parametrize(
    "address", ["tcp://0.0.0.0:5555", "tcp://10.0.0.1:5555", "tcp://*:5555", "tcp://example.org:1"]
)
def test_address_others_can_reach_is_refused_without_keys(address: str) -> None:
    with pytest.raises(ConfigError, match="must have CURVE keys"):
        check_address(address)
    check_address(address, has_curve=True)


@pytest.mark.parametrize(
    "address", ["ipc:///run/x", "inproc://x", "tcp://127.0.0.1:5555", "tcp://[::1]:5555", "tcp://localhost:1"]
)
def test_local_address_needs_no_keys(address: str) -> None:
    check_address(address)


def test_long_run_folder_gets_a_short_socket_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = Path("/tmp") / f"assay-test-{os.getpid()}"
    runtime.mkdir(exist_ok=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    try:
        run_folder = tmp_path / ("x" * 60) / ("y" * 60)
        address = socket_address(run_folder)
        assert len(address.removeprefix("ipc://")) <= MAX_IPC_PATH
        assert address == socket_address(run_folder)
        server = Server(address)
        assert (run_folder / "sock" / "coordinator").is_socket()
        server.close()
    finally:
        for path in runtime.iterdir():
            path.unlink()
        runtime.rmdir()


def test_too_long_ipc_path_is_refused_with_the_way_out() -> None:
    with pytest.raises(ConfigError, match="at most 100 bytes"):
        check_address("ipc:///" + "x" * 100)


def test_socket_in_use_is_refused_and_its_owner_keeps_it(host: Host, client: Client, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must not be in use"):
        Server(f"ipc://{tmp_path}/s")
    assert host.hear(Hello)


def test_socket_a_killed_run_left_behind_is_taken_over(tmp_path: Path) -> None:
    import socket

    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "s"))
    left.close()
    Server(f"ipc://{tmp_path}/s").close()


@pytest.mark.slow
def test_frame_beyond_the_limit_never_arrives(host: Host, tmp_path: Path) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    raw = context.socket(zmq.DEALER)
    raw.setsockopt(zmq.LINGER, 0)
    raw.connect(f"ipc://{tmp_path}/s")
    raw.send(bytes((16 << 20) + 1))
    for _ in range(20):
        assert [] == host.server.drain(0.05)
    assert 0 == host.server.num_malformed
    raw.close()
    context.term()


@pytest.mark.slow
def test_peer_without_a_listed_key_is_not_let_in(tmp_path: Path) -> None:
    public, secret = zmq.curve_keypair()
    listed, listed_secret = zmq.curve_keypair()
    stranger, stranger_secret = zmq.curve_keypair()
    host = Host("tcp://127.0.0.1:*", curve=Curve(public, secret, frozenset((listed,))))
    address = host.server.socket.getsockopt_string(zmq.LAST_ENDPOINT)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()

    def connect(mine: bytes, my_secret: bytes) -> Any:
        raw = context.socket(zmq.DEALER)
        raw.setsockopt(zmq.LINGER, 0)
        raw.curve_serverkey, raw.curve_publickey, raw.curve_secretkey = public, mine, my_secret
        raw.connect(address)
        from assay.core.wire import encode_reports

        raw.send(encode_reports([(0, Heartbeat())]))
        return raw

    outside = connect(stranger, stranger_secret)
    assert [] == host.server.drain(0.5)
    inside = connect(listed, listed_secret)
    assert [(0, Heartbeat(()))] == host.hear()
    for raw in (outside, inside):
        raw.close()
    context.term()
    host.server.close()
