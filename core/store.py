"""Stores: durable bytes by reference."""

from typing import Protocol

from assay.core.blob import BlobRef


class Store(Protocol):
    """A writer-side and reader-side handle; each process opens its own.

    Made as `factory(folder, writer, **options)`: the folder of the run's blobs, and the name of this process, under
    which nobody else writes; None for a handle that only reads. What a killed writer left is put in order when it comes
    back.
    """

    def put(self, data: bytes | memoryview) -> BlobRef:
        """Append bytes; they are durable only after `sync`."""
        ...

    def sync(self) -> None:
        """Make everything put so far survive a power cut."""
        ...

    def get(self, ref: BlobRef) -> bytes:
        """Return the bytes of a reference, checked against its digest.

        Raises:
            StoreError: missing, torn or forged.
        """
        ...

    def close(self) -> None:
        """Sync and close."""
        ...
