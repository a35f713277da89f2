"""Rows that are in memory already: those written in a domain file, and those of small files."""

from collections.abc import Sequence
from typing import Any


class Rows:
    """A source over a list of rows."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, index: int) -> dict[str, Any]:
        """Return a copy of one row."""
        return dict(self._rows[index])
