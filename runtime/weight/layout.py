"""Where each tensor lies in a buffer file, and the header that says whether the buffer is whole.

    <folder>/layout.json     names, dtypes, shapes; written once
    <folder>/buffer-<i>.bin  header, one checksum per tensor, tensors
    <folder>/latest          version, sequence and buffer of the newest whole one; replaced atomically
    <folder>/writer.lock     held by the one publisher

A header holds two copies of a sequence number. The publisher raises the first before it touches the buffer and the
second after it is done; a buffer is whole while both are equal, and was not touched while they stay what they were.
Needs neither numpy nor torch.
"""

import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path

import msgspec

from assay.core.error import StoreError
from assay.core.trajectory import WeightVersion

_HEADER = struct.Struct("<8sQQqQ")
_MAGIC = b"assayw01"
_PAGE = 4096
_ALIGN = 64
_ITEM_BYTES = {"float32": 4, "float64": 8, "int32": 4, "int64": 8, "uint8": 1}


class TensorSpec(msgspec.Struct, frozen=True, array_like=True):
    """One tensor: name, dtype of `core.array`, shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def num_bytes(self) -> int:
        """Size without padding."""
        return math.prod(self.shape) * _ITEM_BYTES[self.dtype]


class Header(msgspec.Struct, frozen=True):
    """State of one buffer.

    Attributes:
        begin: Sequence number, raised before the buffer is written.
        end: The same, raised after.
        version: Of the weights in it.
        checksums: CRC-32 of each tensor, as stored.
    """

    begin: int
    end: int
    version: WeightVersion
    checksums: bytes

    @property
    def is_whole(self) -> bool:
        """Whether a publisher finished what it began."""
        return self.begin == self.end > 0


class WeightLayout(msgspec.Struct, frozen=True):
    """All tensors of a version, in the order of the buffer.

    Attributes:
        tensors: What they are.
        num_buffers: Versions that are kept, the one being written included; at least 2.
    """

    tensors: tuple[TensorSpec, ...]
    num_buffers: int = 2

    def __post_init__(self) -> None:
        if self.num_buffers < 2:
            raise StoreError("weights must have at least 2 buffers", got=self.num_buffers)

    @classmethod
    def of(cls, shapes: Mapping[str, tuple[int, ...]], num_buffers: int = 2) -> "WeightLayout":
        """Lay out float32 tensors by name, as `Architecture.tensors` lists them."""
        return cls(tuple(TensorSpec(name, "float32", shape) for name, shape in shapes.items()), num_buffers)

    @property
    def data_offset(self) -> int:
        """First byte after header and checksums."""
        return _round_up(_HEADER.size + 4 * len(self.tensors), _PAGE)

    @property
    def offsets(self) -> tuple[int, ...]:
        """First byte of each tensor in a buffer file."""
        found, at = [], self.data_offset
        for tensor in self.tensors:
            found.append(at)
            at = _round_up(at + tensor.num_bytes, _ALIGN)
        return tuple(found)

    @property
    def file_bytes(self) -> int:
        """Size of one buffer file."""
        if not self.tensors:
            return self.data_offset
        return _round_up(self.offsets[-1] + self.tensors[-1].num_bytes, _PAGE)

    @property
    def num_bytes(self) -> int:
        """Size of all buffer files."""
        return self.file_bytes * self.num_buffers

    def buffer_path(self, folder: Path, index: int) -> Path:
        """Path of one buffer."""
        return folder / f"buffer-{index}.bin"

    def read_header(self, descriptor: int) -> Header | None:
        """Return the header of an open buffer; None where nothing was ever written."""
        data = os.pread(descriptor, _HEADER.size + 4 * len(self.tensors), 0)
        if len(data) < _HEADER.size:
            return None
        magic, begin, end, version, _ = _HEADER.unpack_from(data)
        if magic != _MAGIC:
            return None
        return Header(begin, end, WeightVersion.unpack(version), data[_HEADER.size :])

    def begin(self, buffer: memoryview, sequence: int) -> None:
        """Mark a buffer as being written."""
        _HEADER.pack_into(buffer, 0, _MAGIC, sequence, struct.unpack_from("<Q", buffer, 16)[0], 0, self.file_bytes)

    def commit(self, buffer: memoryview, sequence: int, version: WeightVersion, checksums: list[int]) -> None:
        """Mark a buffer as whole; the second sequence number is the last thing written."""
        struct.pack_into(f"<{len(checksums)}I", buffer, _HEADER.size, *checksums)
        struct.pack_into("<q", buffer, 24, version.pack())
        struct.pack_into("<Q", buffer, 16, sequence)

    def write(self, path: Path) -> None:
        """Write `layout.json`, whole or not at all."""
        replace_file(path, msgspec.json.encode(self))

    @classmethod
    def read(cls, path: Path) -> "WeightLayout":
        """Read `layout.json`.

        Raises:
            StoreError: there is none yet, or it is broken.
        """
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except OSError as error:
            raise StoreError("a weight folder must have a layout", got=error.strerror, at=path) from None
        except (msgspec.DecodeError, StoreError) as error:
            raise StoreError("a weight layout must be readable", got=error, at=path) from None


class Latest(msgspec.Struct, frozen=True, array_like=True):
    """The newest whole version: what `latest` holds."""

    version: WeightVersion
    sequence: int
    buffer: int


def read_latest(folder: Path) -> Latest | None:
    """Return what `latest` says; None where nothing was published."""
    try:
        return msgspec.json.decode((folder / "latest").read_bytes(), type=Latest)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise StoreError(
            "the pointer to the latest weights must be readable", got=error, at=folder / "latest"
        ) from None


def replace_file(path: Path, data: bytes) -> None:
    """Write a file beside its place and rename it: readers see the old one or the new one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(data)
    draft.replace(path)


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step
