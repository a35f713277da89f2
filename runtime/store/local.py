"""The store `local`: append-only segment files in one folder, one writer per process.

A record is a header (magic, CRC-32 of the rest of the record, length, SHA-256) and the bytes. Invariants: a reference
is handed to others only after `sync`, so what a reference names survives a power cut; a record that a crash tore stands
at the end of a segment and is cut off when its writer opens it again; bytes are checked against their digest at every
read.
"""

import fcntl
import hashlib
import os
import re
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

from assay.core.blob import BlobRef
from assay.core.error import StoreError

_HEADER = struct.Struct("<4sIQ32s")
_MAGIC = b"ASY1"
SEGMENT_BYTES = 256 << 20


class LocalStore:
    """A handle on one folder of segments.

    Args:
        folder: Shared by all processes of the run.
        writer: Name of this process's segments, such as `verify-0`; None for a handle that only reads.
        segment_bytes: A segment that has reached this length is followed by another one.

    Attributes:
        num_torn_bytes: Cut off the end of this writer's last segment when it was opened.

    Raises:
        StoreError: another process writes under the same name, or the folder cannot be written.
    """

    def __init__(self, folder: Path, writer: str | None = None, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.num_torn_bytes = 0
        self._folder = folder
        self._writer = writer
        self._segment_bytes = segment_bytes
        self._readers: dict[str, int] = {}
        self._file: BinaryIO | None = None
        self._name, self._end, self._is_dirty = "", 0, False
        if writer is not None:
            if re.fullmatch(r"[A-Za-z0-9_.-]+", writer) is None:
                raise StoreError("a writer's name must be letters, digits, `_`, `-` and `.`", got=repr(writer))
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._open_last()
            except OSError as error:
                raise StoreError("the store's folder must be writable", got=error, at=folder) from None

    def put(self, data: bytes | memoryview) -> BlobRef:
        """Append bytes; they are durable only after `sync`."""
        if self._file is None:
            raise StoreError("a handle that writes must have a writer's name", at=self._folder)
        if self._end >= self._segment_bytes:
            self.sync()
            self._open(int(self._name.rpartition("~")[2].removesuffix(".seg")) + 1)
        digest = hashlib.sha256(data).digest()
        size = memoryview(data).nbytes
        self._file.write(_HEADER.pack(_MAGIC, _checksum(digest, data), size, digest))
        self._file.write(data)
        ref = BlobRef(digest.hex(), size, self._name, self._end + _HEADER.size)
        self._end += _HEADER.size + size
        self._is_dirty = True
        return ref

    def sync(self) -> None:
        """Make everything put so far survive a power cut."""
        if self._file is not None and self._is_dirty:
            self._file.flush()
            os.fdatasync(self._file.fileno())
            self._is_dirty = False

    def get(self, ref: BlobRef) -> bytes:
        """Return the bytes of a reference, checked against its digest.

        Raises:
            StoreError: missing, torn or forged.
        """
        if self._file is not None and ref.store == self._name:
            self._file.flush()
        data = os.pread(self._reader(ref.store), ref.num_bytes, ref.offset)
        if len(data) != ref.num_bytes or hashlib.sha256(data).hexdigest() != ref.digest:
            raise StoreError("a blob must have the bytes of its digest", got=ref.digest[:16], at=self._place(ref))
        return data

    def close(self) -> None:
        """Sync and close; safe to call twice."""
        if self._file is not None:
            self.sync()
            self._file.close()
            self._file = None
        for descriptor in self._readers.values():
            os.close(descriptor)
        self._readers.clear()

    def _reader(self, name: str) -> int:
        descriptor = self._readers.get(name)
        if descriptor is None:
            if "/" in name or not name.endswith(".seg"):
                raise StoreError("a reference must name a segment", got=repr(name), at=self._folder)
            try:
                descriptor = os.open(self._folder / name, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                raise StoreError("a blob's segment must exist", got=name, at=self._folder) from None
            self._readers[name] = descriptor
        return descriptor

    def _open_last(self) -> None:
        numbers = [int(path.stem.rpartition("~")[2]) for path in self._folder.glob(f"{self._writer}~*.seg")]
        self._open(max(numbers, default=0))

    def _open(self, number: int) -> None:
        if self._file is not None:
            self._file.close()
        self._name = f"{self._writer}~{number}.seg"
        path = self._folder / self._name
        self._file = open(path, "ab")  # noqa: SIM115 - lives as long as the handle
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            self._file = None
            raise StoreError("a segment must have one writer", got="another process", at=path) from None
        self._end = _whole_bytes(path)
        self.num_torn_bytes += path.stat().st_size - self._end
        os.truncate(path, self._end)
        os.fdatasync(self._file.fileno())
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _place(self, ref: BlobRef) -> str:
        return f"{self._folder / ref.store}:{ref.offset}"


def _checksum(digest: bytes, data: bytes | memoryview) -> int:
    return zlib.crc32(data, zlib.crc32(digest))


def _whole_bytes(path: Path) -> int:
    """Return the length of the whole records at the beginning of a segment."""
    end = 0
    with path.open("rb") as file:
        while len(header := file.read(_HEADER.size)) == _HEADER.size:
            magic, checksum, size, digest = _HEADER.unpack(header)
            if magic != _MAGIC or size > path.stat().st_size - end:
                break
            data = file.read(size)
            if len(data) != size or _checksum(digest, data) != checksum:
                break
            end += _HEADER.size + size
    return end
