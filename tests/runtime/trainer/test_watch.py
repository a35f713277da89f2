import queue
import socket
from collections.abc import Iterator

import pytest

from assay.core.error import TrainerError
from assay.runtime.trainer import watch
from assay.runtime.trainer.watch import Watch

Losses = queue.SimpleQueue[str]


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of one connection."""
    first, second = socket.socketpair()
    yield first, second
    first.close()
    second.close()


def test_closed_connection_is_a_lost_rank(ends: tuple[socket.socket, socket.socket]) -> None:
    losses: Losses = queue.SimpleQueue()
    watching = Watch({3: ends[0]}, 0, losses.put)
    ends[1].close()
    assert "rank 0: rank 3 is gone" == losses.get(timeout=30.0)
    watching.close()


@pytest.mark.slow
def test_silent_connection_is_a_lost_rank(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "PERIOD_S", 0.05)
    monkeypatch.setattr(watch, "SILENCE_S", 1.0)
    losses: Losses = queue.SimpleQueue()
    watching = Watch({0: ends[0]}, 1, losses.put)
    assert "rank 1: rank 0 has been silent for 1 s" == losses.get(timeout=30.0)
    watching.close()


@pytest.mark.slow
def test_ranks_that_speak_are_not_lost(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "PERIOD_S", 0.05)
    monkeypatch.setattr(watch, "SILENCE_S", 2.0)
    losses: Losses = queue.SimpleQueue()
    watches = [Watch({1: ends[0]}, 0, losses.put), Watch({0: ends[1]}, 1, losses.put)]
    with pytest.raises(queue.Empty):
        losses.get(timeout=2.5)
    for one in watches:
        one.close()


def test_farewell_is_no_loss(ends: tuple[socket.socket, socket.socket]) -> None:
    losses: Losses = queue.SimpleQueue()
    leaving, staying = (Watch({1 - rank: ends[rank]}, rank, losses.put) for rank in (0, 1))
    leaving.close()
    staying.close()
    assert losses.empty()


def test_rank_that_never_joins_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.01)
        with pytest.raises(TrainerError, match="1 of 2"):
            watch._accept(listener, "s" * 32, 2)


def test_stranger_without_the_secret_is_turned_away() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with socket.create_connection(address) as stranger, socket.create_connection(address) as peer:
            stranger.sendall(b"x" * 32 + (1).to_bytes(4, "big"))
            peer.sendall(b"s" * 32 + (1).to_bytes(4, "big"))
            peers = watch._accept(listener, "s" * 32, 2)
            assert [1] == list(peers)
            assert peer.getsockname() == peers[1].getpeername()
            assert b"" == stranger.recv(1)
            peers[1].close()
