"""Stores that each break one clause; a module of its own, which another process finds."""

from pathlib import Path
from typing import Any

import msgspec

from assay.core.blob import BlobRef
from assay.core.error import StoreError
from assay.runtime.store.local import LocalStore


class Uneven(LocalStore):
    """Says a wrong length."""

    def put(self, data: bytes | memoryview) -> BlobRef:
        return msgspec.structs.replace(super().put(data), num_bytes=1)


class Blind(LocalStore):
    """Does not see what it has not synced."""

    def get(self, ref: BlobRef) -> bytes:
        if self._is_dirty:
            raise StoreError("not there yet")
        return super().get(ref)


class Selfish(LocalStore):
    """Reads only its own segments."""

    def get(self, ref: BlobRef) -> bytes:
        if self._writer is None or not ref.store.startswith(self._writer):
            raise StoreError("not mine")
        return super().get(ref)


class Forgetful(LocalStore):
    """Begins anew whenever it is opened."""

    def __init__(self, folder: Path, writer: str | None = None, **options: Any) -> None:
        for path in folder.glob(f"{writer}~*.seg"):
            path.unlink()
        super().__init__(folder, writer, **options)


class Lazy(LocalStore):
    """Syncs when it is closed."""

    def sync(self) -> None:
        pass

    def close(self) -> None:
        super().sync()
        super().close()


class Obliging(LocalStore):
    """Gives something for everything."""

    def get(self, ref: BlobRef) -> bytes:
        try:
            return super().get(ref)
        except StoreError:
            return b""


class Careless(LocalStore):
    """Raises what comes."""

    def get(self, ref: BlobRef) -> bytes:
        try:
            return super().get(ref)
        except StoreError as error:
            raise KeyError(ref.digest) from error


class Brittle(LocalStore):
    """Gives up the whole segment for one torn blob."""

    def __init__(self, folder: Path, writer: str | None = None, **options: Any) -> None:
        super().__init__(folder, writer, **options)
        if self.num_torn_bytes:
            (folder / self._name).write_bytes(b"")


class Trusting(LocalStore):
    """Checks nothing."""

    def get(self, ref: BlobRef) -> bytes:
        path = self._folder / ref.store
        if self._file is not None:
            self._file.flush()
        if not path.is_file():
            raise StoreError("missing")
        return path.read_bytes()[ref.offset : ref.offset + ref.num_bytes]
