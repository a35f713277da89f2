"""What a verb prints to: results on stdout, problems on stderr, colour only where a person looks."""

import io
import os
from collections.abc import Sequence
from typing import TextIO

_CODES = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "good": "\x1b[32m", "strong": "\x1b[1m", "faint": "\x1b[2m"}


class Terminal:
    """Two streams.

    Args:
        out: For results.
        err: For problems.
    """

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.out = out
        self.err = err
        for stream in (out, err):
            # A character that the terminal's encoding lacks is shown escaped; it ends no command.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")

    def print(self, text: str = "") -> None:
        """Write a line of the result."""
        print(text, file=self.out)

    def complain(self, text: str) -> None:
        """Write a problem to stderr, after whatever came before it on stdout."""
        self.out.flush()
        print(text, file=self.err)

    def paint(self, text: str, style: str, *, err: bool = False) -> str:
        """Return the text in a style, where its stream is a terminal that shows colours."""
        return f"{_CODES[style]}{text}\x1b[0m" if text and _has_colour(self.err if err else self.out) else text


def columns(rows: Sequence[Sequence[str]], gap: str = "  ") -> list[str]:
    """Return rows as lines of left-aligned columns; the last column is as long as it likes."""
    count = max(map(len, rows), default=0)
    widths = [max((len(row[index]) for row in rows if index < len(row)), default=0) for index in range(count)]
    return [
        gap.join(cell.ljust(width) for cell, width in zip(row, widths[: len(row)], strict=True)).rstrip()
        for row in rows
    ]


def plural(count: int, noun: str, ending: str = "s") -> str:
    """Return `1 error`, `2,000 errors`."""
    return f"{count:,} {noun}{'' if count == 1 else ending}"


def _has_colour(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
