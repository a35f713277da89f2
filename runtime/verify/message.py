"""What a verifier's host and its worker processes say to each other.

A frame is a 4-byte big-endian length and one msgpack body, over a socket pair made before the worker existed. Nothing
is pickled: a frame that does not decode to one of these structs is the worker's fault.
"""

import socket
import struct
from typing import Any, Literal

import msgspec

from assay.core.episode import Episode
from assay.core.error import WireError
from assay.core.judge import JudgeReply, JudgeRequest
from assay.core.sandbox import SandboxSpec
from assay.core.signal import SignalSpec, SignalValue

MAX_FRAME_BYTES = 64 * 2**20
_LENGTH = struct.Struct(">I")

Mode = Literal["worker", "fork", "async"]


class Limits(msgspec.Struct, frozen=True, array_like=True):
    """What one worker process may use.

    Attributes:
        memory_bytes: Address space beyond what the loaded plugins take.
        scratch_bytes: Size of its scratch folder, where a mount namespace can hold it to that.
        file_bytes: Largest file it may write.
        num_files: Open files.
        num_processes: Processes it may have, counted inside its user namespace; the kernel exempts root.
        max_jobs: Verifications after which it is replaced.
        max_growth_bytes: Growth of its resident memory after which it is replaced.
        start_s: Seconds it may take to load its plugins.
    """

    memory_bytes: int = 2 * 2**30
    scratch_bytes: int = 64 * 2**20
    file_bytes: int = 64 * 2**20
    num_files: int = 256
    num_processes: int = 64
    max_jobs: int = 10_000
    max_growth_bytes: int = 2**30
    start_s: float = 120.0


class Setup(msgspec.Struct, frozen=True, array_like=True, tag="setup"):
    """First frame to a new process.

    Attributes:
        refs: `dist:version:module:attribute` of all it may be asked to run.
        mode: `worker` runs calls in the process, `fork` in a child each, `async` several at a time in one loop.
        net: Whether it keeps the network.
        paths: Further folders to import from.
        limits: What it may use.
        namespaces: Whether it enters namespaces, where the system lets it.
        scratch: The one folder it may write to.
    """

    refs: tuple[str, ...]
    mode: Mode
    net: bool = False
    paths: tuple[str, ...] = ()
    limits: Limits = Limits()
    namespaces: bool = True
    scratch: str = ""


class Declared(msgspec.Struct, frozen=True, array_like=True):
    """What a loaded leaf declares, as the host needs it.

    Attributes:
        name: Registered name.
        version: Its own version.
        supplied: Parameters that the runtime supplies.
        specs: Its signals; empty for a parser.
        tier: `auto`, `judge` or `human`.
        timeout_s: Seconds one call may take.
        retries: Further tries after an exception or a crash.
        is_fatal: Whether the last failure ends the run.
        on_timeout: Signals that a timeout earns; None: unscored.
    """

    name: str
    version: int
    supplied: tuple[str, ...]
    specs: dict[str, SignalSpec]
    tier: str
    timeout_s: float
    retries: int
    is_fatal: bool
    on_timeout: dict[str, SignalValue] | None


class Hello(msgspec.Struct, frozen=True, array_like=True, tag="hello"):
    """A process is ready, or `error` says which plugin did not load.

    Attributes:
        declared: By reference.
        locked: Protections in force, such as `landlock`.
        rss_bytes: Resident memory with all plugins loaded.
        error: One line; empty where all went well.
    """

    declared: dict[str, Declared]
    locked: tuple[str, ...]
    rss_bytes: int
    error: str = ""


class Job(msgspec.Struct, frozen=True, array_like=True, tag="job"):
    """One call wanted.

    Attributes:
        job_id: Unique among jobs in flight.
        ref: Which leaf.
        arguments: Bound parameters by name.
        answer: For a leaf that asks for it; the text to read for a parser.
        episode: For a leaf that asks for it.
        timeout_s: Instead of the declared one; None keeps that.
        sandbox: What box a leaf gets that asks for one.
    """

    job_id: int
    ref: str
    arguments: dict[str, Any] = {}
    answer: str | None = None
    episode: Episode | None = None
    timeout_s: float | None = None
    sandbox: SandboxSpec | None = None


class Reply(msgspec.Struct, frozen=True, array_like=True, tag="reply"):
    """One call made.

    Attributes:
        job_id: Whose.
        status: `ok`; `raised` an exception; `fault` the value breaks the declaration; `timeout`; `died` a fork died.
        signals: By name; `answer` alone for a parser.
        detail: One line where the status is not `ok`.
        wall_s: Seconds it took.
        rss_bytes: Peak resident memory of the process.
        is_dirty: The call left threads behind; the process must be replaced.
    """

    job_id: int
    status: Literal["ok", "raised", "fault", "timeout", "died"]
    signals: dict[str, SignalValue] = {}
    detail: str = ""
    wall_s: float = 0.0
    rss_bytes: int = 0
    is_dirty: bool = False


class BoxCall(msgspec.Struct, frozen=True, array_like=True, tag="box_call"):
    """A verifier wants something of its box, which the host holds.

    Attributes:
        job_id: Of the call that has the box.
        call_id: Named in the answer.
        box: 0 for the box of the job; what `fork` said for others.
        method: Of `assay.Sandbox`.
        given: Its arguments by name.
    """

    job_id: int
    call_id: int
    box: int
    method: str
    given: dict[str, Any]


class BoxReply(msgspec.Struct, frozen=True, array_like=True, tag="box_reply"):
    """Answer to a `BoxCall`; `error` is empty where it went well."""

    call_id: int
    value: Any = None
    error: str = ""


class JudgeCall(msgspec.Struct, frozen=True, array_like=True, tag="judge_call"):
    """A verifier asks its judge, which the host can reach.

    Attributes:
        job_id: Of the call that asks.
        call_id: Named in the answer.
        request: What it asks.
    """

    job_id: int
    call_id: int
    request: JudgeRequest


class JudgeAnswer(msgspec.Struct, frozen=True, array_like=True, tag="judge_answer"):
    """Answer to a `JudgeCall`.

    Attributes:
        call_id: Which.
        reply: None where there is none.
        error: One line on why not.
        failure: What kind of failure it is; empty where there is none.
    """

    call_id: int
    reply: JudgeReply | None
    error: str = ""
    failure: Literal["", "error", "outage", "refused"] = ""


FromWorker = Hello | Reply | BoxCall | JudgeCall
ToWorker = Setup | Job | BoxReply | JudgeAnswer

_encoder = msgspec.msgpack.Encoder()


def pack(message: FromWorker | ToWorker) -> bytes:
    """Return one frame.

    Raises:
        WireError: it is too long, or a text in it holds half a character.
    """
    try:
        body = _encoder.encode(message)
    except UnicodeEncodeError as error:
        raise WireError("a frame must be made of whole characters", got=error.reason) from None
    if len(body) > MAX_FRAME_BYTES:
        raise WireError(f"a frame must have at most {MAX_FRAME_BYTES} bytes", got=len(body))
    return _LENGTH.pack(len(body)) + body


class Inbox:
    """Bytes from a stream, cut into messages of one union."""

    def __init__(self, union: Any) -> None:
        self._decoder = msgspec.msgpack.Decoder(union)
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Any]:
        """Return the messages that are whole now.

        Raises:
            WireError: a frame is too long or no known message.
        """
        self._buffer += data
        messages = []
        while len(self._buffer) >= 4:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > MAX_FRAME_BYTES:
                raise WireError(f"a frame must have at most {MAX_FRAME_BYTES} bytes", got=length)
            if len(self._buffer) < 4 + length:
                break
            body = bytes(self._buffer[4 : 4 + length])
            del self._buffer[: 4 + length]
            try:
                messages.append(self._decoder.decode(body))
            except (msgspec.DecodeError, ValueError) as error:
                raise WireError("a frame must be a known message", got=str(error)) from None
        return messages


def receive(channel: socket.socket, union: Any) -> Any:
    """Wait for one message of a union; None at the end of the stream. For the side that has nothing else to do."""
    header = _exactly(channel, 4)
    if header is None:
        return None
    (length,) = _LENGTH.unpack(header)
    if length > MAX_FRAME_BYTES:
        raise WireError(f"a frame must have at most {MAX_FRAME_BYTES} bytes", got=length)
    body = _exactly(channel, length)
    return None if body is None else msgspec.msgpack.decode(body, type=union)


def _exactly(channel: socket.socket, size: int) -> bytes | None:
    data = channel.recv(size, socket.MSG_WAITALL) if size else b""
    while len(data) < size:
        more = channel.recv(size - len(data))
        if not more:
            return None
        data += more
    return data
