"""References to bytes that live beside the coordinator: trajectories, artifacts, images."""

import msgspec


class BlobRef(msgspec.Struct, frozen=True, array_like=True):
    """Where content-addressed bytes are found.

    Attributes:
        digest: SHA-256 of the bytes, 64 hex digits.
        num_bytes: Their length.
        store: Name of the store's segment file or bucket that holds them.
        offset: First byte inside the segment file; 0 where the store addresses whole objects.
    """

    digest: str
    num_bytes: int
    store: str = ""
    offset: int = 0
