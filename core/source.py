"""Sources: rows of tasks by index."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Source(Protocol):
    """Rows by index; the same index always gives the same row.

    A source is what a function marked `@assay.source` returns for one call in `data:`.
    """

    def __len__(self) -> int:
        """How many rows there are; a generator states how many it will make."""
        ...

    def read(self, index: int) -> dict[str, Any]:
        """Return the field values of one row.

        Raises:
            DataError: the row cannot be read; names file and row.
        """
        ...
