"""Levels of difficulty: one source per level, read as one, from easy to hard."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.core.source import Source


class Levels:
    """Rows of all levels, one level after the other.

    Args:
        parts: How to open the source of each level, and its rows.
    """

    def __init__(self, parts: Sequence[tuple[Callable[[], Source], int]]) -> None:
        self._parts = parts
        self._open: dict[int, Source] = {}

    def __len__(self) -> int:
        """How many rows there are in all."""
        return sum(size for _, size in self._parts)

    def read(self, index: int) -> dict[str, Any]:
        """Return a row; the source of its level is opened on its first.

        Raises:
            IndexError: there is no such row.
        """
        for level, (open_part, size) in enumerate(self._parts):
            if 0 <= index < size:
                if level not in self._open:
                    self._open[level] = open_part()
                return self._open[level].read(index)
            index -= size
        raise IndexError(index)


def climb(attributes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the levels from the first values of all attributes to the last, one attribute raised at a time, in turns.

    Args:
        attributes: Values from easy to hard, at least one each.

    Example:
        >>> [list(level.values()) for level in climb({"digits": [2, 4, 6], "terms": [2, 3]})]
        [[2, 2], [4, 2], [4, 3], [6, 3]]
    """
    at = dict.fromkeys(attributes, 0)
    levels = [{name: values[0] for name, values in attributes.items()}]
    while any(at[name] + 1 < len(values) for name, values in attributes.items()):
        for name, values in attributes.items():
            if at[name] + 1 < len(values):
                at[name] += 1
                levels.append({other: attributes[other][at[other]] for other in attributes})
    return levels
