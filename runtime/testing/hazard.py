"""Leaves that misbehave, run by contracts inside the worker processes of the plugin that is tried.

A worker is told `dist:version:module:attribute`; with the plugin's distribution in front these functions share its very
process. So a contract shows what the plugin's process does when a call hangs, crashes, says too much or forks without
end, whatever the plugin itself can be brought to do: it is replaced, and the plugin answers as before.
"""

import ctypes
import os
import signal as signals
import time
from typing import Annotated, Literal

from assay.core.leaf import verifier
from assay.core.signal import Signals, signal

# Enough to show that none is left; a real bomb would only slow the machine that runs the tests.
NUM_FORKED = 64
# The name of every process that `fork` leaves, with the number its job gives it.
MARK = "assaybomb"
NUM_OUTPUT_BYTES = 64 * 2**20


class Survived(Signals, frozen=True):
    """What a hazard returns where it returns."""

    survived: Annotated[bool, signal(doc="It came back.")]


@verifier("testing.hazard", version=1, timeout="30s")
def hazard(how: Literal["nothing", "hang", "crash", "exit", "output", "fork"], mark: str) -> Survived:
    """Misbehave in the way asked for."""
    match how:
        case "hang":
            # What a plugin may do to be hard to stop, all at once.
            signals.pthread_sigmask(signals.SIG_BLOCK, set(signals.Signals) - {signals.SIGKILL, signals.SIGSTOP})
            while True:
                try:
                    time.sleep(60)
                except BaseException:
                    continue
        case "crash":
            ctypes.string_at(0)
        case "exit":
            os._exit(0)
        case "output":
            _say(NUM_OUTPUT_BYTES)
        case "fork":
            _fork(mark)
    return Survived(survived=True)


def _say(num_bytes: int) -> None:
    piece = b"y" * (1 << 20)
    for descriptor in (1, 2):
        try:
            for _ in range(num_bytes // len(piece)):
                os.write(descriptor, piece)
        except OSError:
            continue


def _fork(mark: str) -> None:
    """Leave processes in sessions of their own, each under a name that can be looked for."""
    for _ in range(NUM_FORKED):
        try:
            if os.fork() == 0:
                os.setsid()
                ctypes.CDLL(None).prctl(15, f"{MARK}{mark}".encode()[:15], 0, 0, 0)
                time.sleep(600)
                os._exit(0)
        except OSError:
            # The limit on processes was met: a bomb stops here too.
            break
