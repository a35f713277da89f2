"""The coordinator's end: one ROUTER, drained whole, answered with one frame per worker.

A frame that is malformed is counted and dropped. A bind that others than this machine's processes could reach is
refused without CURVE; with it, only listed keys are let in, and who is not listed is logged by the authenticator.
"""

import hashlib
import ipaddress
import os
import socket
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import zmq

from assay.core.error import ConfigError, WireError
from assay.core.wire import MAX_FRAME_BYTES, Order, Report, decode_reports, encode_orders

if TYPE_CHECKING:
    from zmq.auth.thread import ThreadAuthenticator

# sun_path holds 108 bytes with its end; a longer address would be cut silently.
MAX_IPC_PATH = 100
MAX_ORDERS = 256


class Curve(msgspec.Struct, frozen=True):
    """Keys of a server, Z85: its own pair and the public keys that may enter."""

    public: bytes
    secret: bytes
    allowed: frozenset[bytes]


class Server:
    """A bound ROUTER.

    Args:
        address: `ipc://`, `inproc://` or loopback; anything else needs `curve`.
        context: Shared one for `inproc://`; None makes its own.
        curve: Keys; None for local addresses.

    Attributes:
        num_malformed: Frames dropped so far.

    Raises:
        ConfigError: the address is not safe, too long, or in use.
    """

    def __init__(
        self,
        address: str,
        *,
        context: "zmq.Context[zmq.Socket[bytes]] | None" = None,
        curve: Curve | None = None,
    ) -> None:
        check_address(address, has_curve=curve is not None)
        self.num_malformed = 0
        self._owns_context = context is None
        self._context = context or zmq.Context()
        self._authenticator = _authenticate(self._context, curve) if curve is not None else None
        self.socket = self._context.socket(zmq.ROUTER)
        for option, value in ((zmq.MAXMSGSIZE, MAX_FRAME_BYTES), (zmq.SNDHWM, 0), (zmq.RCVHWM, 0), (zmq.LINGER, 500)):
            self.socket.setsockopt(option, value)
        # A worker that restarts under the same identity must win over its dead connection.
        self.socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        if curve is not None:
            self.socket.curve_server = True
            self.socket.curve_publickey, self.socket.curve_secretkey = curve.public, curve.secret
        self._bind(address)

    def _bind(self, address: str) -> None:
        if address.startswith("ipc://") and _is_in_use(address):
            self.close()
            raise ConfigError(
                "the coordinator's socket must not be in use",
                got=address,
                todo="End the run that uses it, or choose another run folder",
            )
        try:
            self.socket.bind(address)
        except zmq.ZMQError as error:
            self.close()
            raise ConfigError("the coordinator's socket must be free to bind", got=str(error), at=address) from None

    def drain(self, timeout_s: float, max_frames: int = 1024) -> list[tuple[bytes, int, Report]]:
        """Wait up to `timeout_s` for a frame, then return all reports that are there: who, sequence, report."""
        reports: list[tuple[bytes, int, Report]] = []
        router = self.socket
        if timeout_s > 0 and not router.poll(max(1, round(timeout_s * 1000))):
            return reports
        for _ in range(max_frames):
            try:
                parts = router.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            try:
                if len(parts) != 2:
                    raise WireError("a message must be one frame", got=len(parts) - 1)
                peer = parts[0]
                reports.extend((peer, sequence, report) for sequence, report in decode_reports(parts[1]))
            except WireError:
                self.num_malformed += 1
        return reports

    def send(self, orders: Mapping[bytes, Sequence[Order]]) -> None:
        """Send each worker its orders, in as few frames as they fit; a worker that is gone loses them."""
        for peer, items in orders.items():
            for start in range(0, len(items), MAX_ORDERS):
                self.socket.send_multipart((peer, encode_orders(list(items[start : start + MAX_ORDERS]))))

    def close(self) -> None:
        """Close the socket; safe to call twice."""
        self.socket.close()
        if self._authenticator is not None:
            self._authenticator.stop()
            self._authenticator = None
        if self._owns_context:
            self._context.term()


def check_address(address: str, *, has_curve: bool = False) -> None:
    """Refuse an address that is too long, or that strangers could reach without keys.

    Raises:
        ConfigError: see above.
    """
    scheme, _, rest = address.partition("://")
    if scheme == "ipc" and len(rest.encode()) > MAX_IPC_PATH:
        raise ConfigError(
            f"the path of an ipc socket must have at most {MAX_IPC_PATH} bytes",
            got=len(rest.encode()),
            at=rest,
            todo="Use socket_address(run_folder)",
        )
    if scheme in ("ipc", "inproc") or has_curve:
        return
    host = rest.rpartition(":")[0].strip("[]")
    try:
        is_local = scheme == "tcp" and (host == "localhost" or ipaddress.ip_address(host).is_loopback)
    except ValueError:
        is_local = False
    if not is_local:
        raise ConfigError("a bind beyond this machine must have CURVE keys", got=address)


def socket_address(run_folder: Path) -> str:
    """Return the ipc address of a run: `<run>/sock/coordinator`, or a link to that folder where the path is too long.

    The link lies in `XDG_RUNTIME_DIR` or the temporary folder, named by a digest of the run folder, so that every
    process of the run finds the same one.
    """
    folder = run_folder.resolve() / "sock"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "coordinator"
    if len(os.fsencode(path)) > MAX_IPC_PATH:
        link = _short_link(folder)
        if not link.is_symlink():
            link.symlink_to(folder)
        if link.readlink() != folder or link.lstat().st_uid != os.getuid():
            raise ConfigError("the short link to the socket folder must be this run's", got=link)
        path = link / "coordinator"
    return f"ipc://{path}"


def forget_address(run_folder: Path) -> None:
    """Remove the link that `socket_address` may have made; for the coordinator, when its run is over."""
    _short_link(run_folder.resolve() / "sock").unlink(missing_ok=True)


def _short_link(folder: Path) -> Path:
    short = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    return short / f"assay-{os.getuid()}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"


def _is_in_use(address: str) -> bool:
    # libzmq unlinks the path of a live ipc socket when another one binds: ask the kernel first.
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(address.removeprefix("ipc://"))
        except OSError:
            return False
    return True


def _authenticate(context: "zmq.Context[zmq.Socket[bytes]]", curve: Curve) -> "ThreadAuthenticator":
    from zmq.auth.thread import ThreadAuthenticator

    class Listed:
        def callback(self, domain: str, key: bytes) -> bool:
            return key in curve.allowed

    authenticator = ThreadAuthenticator(context)
    authenticator.start()
    authenticator.configure_curve_callback(credentials_provider=Listed())
    return authenticator


def grouped(sends: Iterable[tuple[bytes, Order]]) -> dict[bytes, list[Order]]:
    """Return orders by worker, each worker's in order."""
    by_peer: dict[bytes, list[Order]] = {}
    for peer, order in sends:
        by_peer.setdefault(peer, []).append(order)
    return by_peer
