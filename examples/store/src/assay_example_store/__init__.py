"""An Assay store: one compressed file per blob, named by its digest."""

import hashlib
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import assay
from assay.core.blob import BlobRef
from assay.core.error import StoreError
from assay.core.leaf import Factory


class ZlibStore:
    """See `assay.core.store.Store`; equal blobs are kept once.

    Args:
        folder: Shared by all processes of the run.
        writer: Name of this process; None for a handle that only reads.
        level: Of the compression, from 1 (fast) to 9 (small).

    Raises:
        StoreError: the folder cannot be written.
    """

    def __init__(self, folder: Path, writer: str | None = None, *, level: int = 6) -> None:
        self._folder, self._writer, self._level = folder, writer, level
        # Drafts that `sync` makes durable, by digest. A file under its final name is whole.
        self._drafts: dict[str, Path] = {}
        self._folders: set[Path] = set()
        if writer is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for left_behind in folder.glob(f".*.{writer}"):
                    left_behind.unlink()
            except OSError as error:
                raise StoreError("the store's folder must be writable", got=error, at=folder) from None

    def put(self, data: bytes | memoryview) -> BlobRef:
        """Take in bytes; they are durable only after `sync`."""
        if self._writer is None:
            raise StoreError("a handle that writes must have a writer's name", at=self._folder)
        digest = hashlib.sha256(data).hexdigest()
        if digest in self._drafts:
            pass
        elif self._path(digest).exists():
            # Another writer's, whose name may not be durable yet.
            self._folders |= {self._folder, self._path(digest).parent}
        else:
            draft = self._folder / f".{digest}.{self._writer}"
            draft.write_bytes(zlib.compress(data, self._level))
            self._drafts[digest] = draft
        return BlobRef(digest, memoryview(data).nbytes, "zlib")

    def sync(self) -> None:
        """Make everything put so far survive a power cut: first the bytes, then the names."""
        for draft in self._drafts.values():
            _sync(draft)
        for digest, draft in self._drafts.items():
            path = self._path(digest)
            path.parent.mkdir(exist_ok=True)
            draft.replace(path)
            self._folders |= {self._folder, path.parent}
        for folder in self._folders:
            _sync(folder)
        self._drafts.clear()
        self._folders.clear()

    def get(self, ref: BlobRef) -> bytes:
        """Return the bytes of a reference, checked against its digest."""
        if not re.fullmatch("[0-9a-f]{64}", ref.digest):
            raise StoreError("a digest must be 64 hex digits", got=repr(ref.digest))
        path = self._drafts.get(ref.digest) or self._path(ref.digest)
        try:
            data = zlib.decompress(path.read_bytes())
        except (OSError, zlib.error) as error:
            raise StoreError("a blob must be there, and whole", got=error, at=path) from None
        if hashlib.sha256(data).hexdigest() != ref.digest:
            raise StoreError("a blob must have the bytes of its digest", got=ref.digest[:16], at=path)
        return data

    def close(self) -> None:
        """Sync; there is nothing to close."""
        self.sync()

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


ZLIB = Factory("zlib", ZlibStore, "One compressed file per blob; equal blobs are kept once.")


@assay.hookimpl
def assay_stores() -> Sequence[Factory]:
    """Offer `zlib`."""
    return (ZLIB,)


@assay.hookimpl
def assay_config_dirs() -> Sequence[str]:
    """Offer `conf/store/zlib.yaml`."""
    return ("assay_example_store/conf",)
