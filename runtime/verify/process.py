"""One worker process, seen from its host: started, spoken to without blocking, ended with all its descendants."""

import contextlib
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from assay.core.error import WireError
from assay.runtime.verify.call import describe_exit
from assay.runtime.verify.message import FromWorker, Hello, Inbox, Setup, ToWorker, pack

_END_S = 5.0
_STORY_BYTES = 4096
# One thread each, equal text order in every process, nothing of the host's own settings or secrets.
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    "OPENBLAS_NUM_THREADS": "1",
}
_KEPT = ("LD_LIBRARY_PATH", "TZ")


class WorkerProcess:
    """A guard and its worker.

    Args:
        setup: What it loads and how it runs; its scratch folder is made here.
        folder: Where that folder is made; None for the system's.

    Attributes:
        hello: What it declared; None while it starts.
        is_ended: The channel is closed or broken; `end` says why.
        is_lost: Something outside killed the guard, which runs no verifier's code.
        num_jobs: Calls it has replied to.
    """

    def __init__(self, setup: Setup, folder: Path | None = None) -> None:
        self.hello: Hello | None = None
        self.is_ended = False
        self.is_lost = False
        self.num_jobs = 0
        self.scratch = Path(tempfile.mkdtemp(prefix="assay-verify-", dir=folder))
        self._stderr = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._inbox = Inbox(FromWorker)
        self._outbox = bytearray()
        self._exit: str | None = None
        self._broken = ""
        self.channel, theirs = socket.socketpair()
        lifeline, self._lifeline = os.pipe()
        try:
            self._guard = subprocess.Popen(
                # -P and -s: nothing is imported from the working folder or the user's own packages.
                [
                    sys.executable,
                    "-s",
                    "-P",
                    "-B",
                    "-m",
                    "assay.runtime.verify.guard",
                    str(theirs.fileno()),
                    str(lifeline),
                ],
                cwd=self.scratch,
                env={
                    **_ENVIRONMENT,
                    **{name: os.environ[name] for name in _KEPT if name in os.environ},
                    "HOME": str(self.scratch),
                    "TMPDIR": str(self.scratch),
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                pass_fds=(theirs.fileno(), lifeline),
                start_new_session=True,
            )
        finally:
            theirs.close()
            os.close(lifeline)
        self.channel.setblocking(False)
        self.send(msgspec.structs.replace(setup, scratch=str(self.scratch)))

    @property
    def pid(self) -> int:
        """Process id of the guard."""
        return self._guard.pid

    @property
    def has_output(self) -> bool:
        """Whether something waits to be sent."""
        return bool(self._outbox)

    def send(self, message: ToWorker) -> None:
        """Send a message, as far as the channel takes it now; `flush` sends the rest."""
        self._outbox += pack(message)
        self.flush()

    def flush(self) -> None:
        """Send what waits."""
        try:
            while self._outbox:
                del self._outbox[: self.channel.send(self._outbox)]
        except BlockingIOError:
            return
        except OSError:
            self.is_ended = True

    def receive(self) -> list[FromWorker]:
        """Return the messages that came; sets `is_ended` at the end of the stream or at a broken frame."""
        messages: list[FromWorker] = []
        while not self.is_ended:
            try:
                data = self.channel.recv(1 << 16)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                self.is_ended = True
                break
            try:
                messages += self._inbox.feed(data)
            except WireError as error:
                self._broken, self.is_ended = str(error), True
        return messages

    def wait_hello(self, timeout_s: float) -> None:
        """Wait for the worker's first message, its end or the time; for callers with nothing else to do."""
        until = time.monotonic() + timeout_s
        while self.hello is None and not self.is_ended and (left := until - time.monotonic()) > 0:
            select.select([self.channel], [], [], left)
            for message in self.receive():
                if isinstance(message, Hello):
                    self.hello = message

    def end(self) -> str:
        """Kill the worker with all its descendants and remove its folder.

        Returns:
            One line on how it ended by itself, or that it was ended.
        """
        if self._exit is not None:
            return self._exit
        self.is_ended = True
        os.close(self._lifeline)
        self.channel.close()
        try:
            status = self._guard.wait(_END_S)
            self.is_lost = status < 0
        except subprocess.TimeoutExpired:
            # The kernel then kills the worker (its parent died) and with it its process namespace.
            self._guard.kill()
            status = self._guard.wait()
        story = self._story()
        self._stderr.close()
        shutil.rmtree(self.scratch, ignore_errors=True)
        self._exit = self._broken or describe_exit(status) + (f": {story}" if story else "")
        return self._exit

    def _story(self) -> str:
        """The last line the process wrote to its standard error."""
        with contextlib.suppress(OSError):
            size = self._stderr.seek(0, os.SEEK_END)
            self._stderr.seek(max(0, size - _STORY_BYTES))
            lines = self._stderr.read().decode(errors="replace").split("\n")
            return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")
        return ""
