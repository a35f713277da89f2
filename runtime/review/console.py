"""Where a reviewer reads and answers: a terminal, where a key is enough, or a pipe, where a line is."""

import contextlib
import os
import select
import shutil
import sys
import termios
import tty
from collections.abc import Iterator
from typing import TextIO

_END = "\x04"


class Console:
    """One pair of streams.

    Args:
        given: What the reviewer types.
        shown: What he sees.
    """

    def __init__(self, given: TextIO, shown: TextIO) -> None:
        self._given = given
        self._shown = shown
        self.is_terminal = given.isatty() and shown.isatty()

    @property
    def width(self) -> int:
        """Columns of a line."""
        return max(20, shutil.get_terminal_size((100, 24)).columns)

    def say(self, text: str = "") -> None:
        """Show a line."""
        print(text, file=self._shown, flush=True)

    def key(self, prompt: str) -> str | None:
        """Return one key, or one line of a pipe; None at the end of input."""
        self._prompt(prompt)
        if not self.is_terminal:
            return self._line()
        with self._single_keys():
            key = self._read_key()
        self.say(key if key.isprintable() else "")
        return None if key in ("", _END) else key

    def line(self, prompt: str) -> str | None:
        """Return one line without its end; None at the end of input."""
        self._prompt(prompt)
        return self._line()

    def _prompt(self, prompt: str) -> None:
        print(prompt, end="", file=self._shown, flush=True)
        if not self.is_terminal:
            print(file=self._shown, flush=True)

    def _line(self) -> str | None:
        text = self._given.readline()
        return text.rstrip("\n") if text else None

    def _read_key(self) -> str:
        descriptor = self._given.fileno()
        data = os.read(descriptor, 1)
        if data == b"\x1b" or data >= b"\x80":
            # An arrow, or a letter of several bytes, is no answer; what follows in the same breath belongs to it.
            while select.select([descriptor], [], [], 0.0)[0] and os.read(descriptor, 1):
                pass
            return "?"
        return data.decode()

    @contextlib.contextmanager
    def _single_keys(self) -> Iterator[None]:
        descriptor = self._given.fileno()
        before = termios.tcgetattr(descriptor)
        try:
            # Ctrl-C still interrupts.
            tty.setcbreak(descriptor, termios.TCSADRAIN)
            yield
        finally:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def open_console() -> Console:
    """Return the console of this process; what its encoding lacks is shown escaped."""
    for stream in (sys.stdin, sys.stdout):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    return Console(sys.stdin, sys.stdout)
