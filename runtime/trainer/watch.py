"""Ranks watch each other, so that one lost rank ends the whole group within seconds.

A collective whose peer is gone waits for minutes. Here every rank keeps one TCP connection to rank 0, and a thread on
each end sends a byte a second. A connection that closes, or stays silent for `SILENCE_S`, means a lost rank: the
process says so and ends with `LOST_RANK`, which closes its own connections, and so the news reaches all. A rank that
leaves in good order says farewell first.

Not a watchdog: a rank that lives but makes no progress is the coordinator's business.
"""

import contextlib
import hmac
import os
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable

from torch._C._distributed_c10d import Store

from assay.core.error import TrainerError

PERIOD_S = 1.0
SILENCE_S = 8.0
# In which every rank must have connected, once all are known to have started.
JOIN_S = 60.0
# Exit status of a rank that ends because another was lost.
LOST_RANK = 75

_ALIVE, _FAREWELL = b"a", b"f"
_TOKEN_BYTES = 32


class Watch:
    """The connections of one rank.

    Args:
        peers: Open socket of each watched rank.
        rank: Own number, for the message.
        on_loss: Called once with a message from the watching thread.
    """

    def __init__(self, peers: dict[int, socket.socket], rank: int, on_loss: Callable[[str], None]) -> None:
        self._peers = peers
        self._rank = rank
        self._on_loss = on_loss
        self._wake, self._waker = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="rank-watch", daemon=True)
        self._thread.start()

    @classmethod
    def join(cls, store: Store, rank: int, world_size: int, address: str) -> "Watch":
        """Connect to rank 0, or accept all others, and begin to watch.

        Args:
            store: Where rank 0 tells its port and the secret that a peer must show.
            rank: Own number.
            world_size: Ranks of the group.
            address: Under which the others reach rank 0.
        """
        if rank == 0:
            with socket.create_server((address, 0)) as listener:
                listener.settimeout(JOIN_S)
                token = secrets.token_hex(_TOKEN_BYTES // 2)
                store.set("assay/watch", f"{listener.getsockname()[1]} {token}")
                peers = _accept(listener, token, world_size)
            return cls(peers, rank, _end)
        port, _, token = store.get("assay/watch").decode().partition(" ")
        peer = socket.create_connection((address, int(port)), timeout=SILENCE_S)
        peer.sendall(token.encode() + rank.to_bytes(4, "big"))
        return cls({0: peer}, rank, _end)

    def close(self) -> None:
        """Say farewell and stop watching."""
        self._waker.sendall(_FAREWELL)
        self._thread.join()
        for peer in (*self._peers.values(), self._wake, self._waker):
            peer.close()

    def _run(self) -> None:
        now = time.monotonic()
        heard = dict.fromkeys(self._peers, now)
        next_beat = now
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake, selectors.EVENT_READ, None)
            for number, peer in self._peers.items():
                peer.settimeout(PERIOD_S)
                selector.register(peer, selectors.EVENT_READ, number)
            while True:
                before = time.monotonic()
                for key, _ in selector.select(max(0.0, next_beat - before)):
                    if key.data is None:
                        self._tell(_FAREWELL)
                        return
                    said = _hear(self._peers[key.data])
                    if said.endswith(_FAREWELL):
                        selector.unregister(self._peers[key.data])
                        del heard[key.data]
                    elif not said:
                        self._on_loss(f"rank {self._rank}: rank {key.data} is gone")
                        return
                    else:
                        heard[key.data] = time.monotonic()
                now = time.monotonic()
                if now - before > PERIOD_S + SILENCE_S / 2:
                    # This process itself was stopped; nobody could be heard meanwhile.
                    heard = dict.fromkeys(heard, now)
                if now >= next_beat:
                    self._tell(_ALIVE)
                    next_beat = now + PERIOD_S
                silent = [number for number, last in heard.items() if now - last > SILENCE_S]
                if silent:
                    self._on_loss(f"rank {self._rank}: rank {silent[0]} has been silent for {SILENCE_S:g} s")
                    return

    def _tell(self, word: bytes) -> None:
        for peer in self._peers.values():
            # A closed connection shows itself when it is next read.
            with contextlib.suppress(OSError):
                peer.sendall(word)


def _accept(listener: socket.socket, token: str, world_size: int) -> dict[int, socket.socket]:
    peers: dict[int, socket.socket] = {}
    while len(peers) < world_size - 1:
        try:
            peer, _ = listener.accept()
        except TimeoutError:
            raise TrainerError("every rank must join", got=f"{len(peers) + 1} of {world_size}") from None
        peer.settimeout(SILENCE_S)
        try:
            greeting = peer.recv(_TOKEN_BYTES + 4, socket.MSG_WAITALL)
        except OSError:
            greeting = b""
        if hmac.compare_digest(greeting[:_TOKEN_BYTES], token.encode()):
            peers[int.from_bytes(greeting[_TOKEN_BYTES:], "big")] = peer
        else:
            peer.close()
    return peers


def _hear(peer: socket.socket) -> bytes:
    try:
        return peer.recv(4096)
    except OSError:
        return b""


def _end(message: str) -> None:
    # Straight to the descriptor: the main thread may be dying of the same loss and hold what `print` needs.
    os.write(2, f"assay: {message}; this rank ends, restart the group\n".encode())
    os._exit(LOST_RANK)
