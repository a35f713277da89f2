"""One `docker exec` with what the SDK lacks: standard input, a deadline and a limit on output."""

import socket
import struct
import time
from typing import Any, Literal

import msgspec

_HEADER = struct.Struct(">BxxxI")
_STDERR = 2
End = Literal["closed", "timeout", "output_limit"]


class Captured(msgspec.Struct):
    """What came out of an exec, and why the capture ended."""

    end: End
    stdout: bytes
    stderr: bytes


def run(api: Any, exec_id: str, stdin: bytes, deadline: float, max_bytes: int) -> Captured:
    """Start an exec and capture its output until it closes, the deadline passes or there is too much of it.

    Args:
        api: The SDK's low-level client.
        exec_id: Made with stdin attached and without a terminal.
        stdin: Fed to the command.
        deadline: On the clock of `time.monotonic`.
        max_bytes: Of standard output and error together.
    """
    response = api.exec_start(exec_id, socket=True)
    # The SDK hands out the reading half of a hijacked connection; the socket itself takes input and timeouts.
    channel: socket.socket = getattr(response, "_sock", response)
    pending, to_send = bytearray(), memoryview(stdin)
    streams = {1: bytearray(), _STDERR: bytearray()}
    end: End = "closed"
    try:
        channel.settimeout(max(0.001, deadline - time.monotonic()))
        while to_send:
            # Small pieces: a command that floods its output before it reads must not block both sides for long.
            try:
                to_send = to_send[channel.send(to_send[: 1 << 15]) :]
            except BrokenPipeError:
                break
        channel.shutdown(socket.SHUT_WR)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                end = "timeout"
                break
            channel.settimeout(left)
            data = channel.recv(1 << 16)
            if not data:
                break
            pending += data
            _demultiplex(pending, streams)
            if sum(map(len, streams.values())) > max_bytes:
                end = "output_limit"
                break
    except TimeoutError:
        end = "timeout"
    finally:
        response.close()
        channel.close()
    out, err = bytes(streams[1]), bytes(streams[_STDERR])
    return Captured(end, out[:max_bytes], err[: max(0, max_bytes - len(out))])


def _demultiplex(pending: bytearray, streams: dict[int, bytearray]) -> None:
    """Move whole frames from the raw stream to the stream that each names."""
    while len(pending) >= _HEADER.size:
        kind, length = _HEADER.unpack_from(pending)
        if len(pending) < _HEADER.size + length:
            return
        streams.get(kind, streams[1]).extend(pending[_HEADER.size : _HEADER.size + length])
        del pending[: _HEADER.size + length]
