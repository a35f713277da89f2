"""The trainer's end: writes versions into the buffer that is not the latest."""

import errno
import fcntl
import mmap
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.core.array import Array
from assay.core.error import StoreError
from assay.core.trajectory import WeightVersion
from assay.runtime.weight.layout import Latest, TensorSpec, WeightLayout, read_latest, replace_file

if TYPE_CHECKING:
    from torch import Tensor


class WeightPublisher:
    """Publishes versions; one at a time per folder.

    A publisher that dies in the middle leaves a buffer that no reader takes; the next one writes over it.

    Args:
        folder: Made where it is missing.
        layout: What every version holds; one that differs from the folder's is refused.

    Raises:
        StoreError: another publisher is alive, another layout is there, or the disk has no room.
    """

    def __init__(self, folder: Path, layout: WeightLayout) -> None:
        self.folder = Path(folder)
        self.layout = layout
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder / "writer.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise StoreError("weights must have one publisher", got="another one that lives", at=self.folder) from None
        self._lock = [lock]
        self._descriptors: list[int] = []
        self._maps: list[mmap.mmap] = []
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        headers = [layout.read_header(descriptor) for descriptor in self._descriptors]
        self._ends = [0 if header is None or not header.is_whole else header.end for header in headers]
        self._sequence = max((max(header.begin, header.end) for header in headers if header is not None), default=0)
        latest = read_latest(self.folder)
        self._latest = -1 if latest is None else latest.buffer
        self._places = {
            spec.name: (index, offset, spec)
            for index, (offset, spec) in enumerate(zip(layout.offsets, layout.tensors, strict=True))
        }

    def publish(self, state: "Iterable[tuple[str, Array | Tensor]]", version: WeightVersion) -> None:
        """Write one version and point readers to it.

        Args:
            state: Every tensor of the layout once, in any order.
            version: Whose weights these are.

        Raises:
            StoreError: a tensor is missing, unknown, twice or of another shape; the latest version stays what it was.
        """
        # Never the latest buffer: readers must always find one whole version. Of the others the oldest.
        index = min((i for i in range(self.layout.num_buffers) if i != self._latest), key=self._ends.__getitem__)
        sequence = self._sequence = self._sequence + 1
        checksums: dict[int, int] = {}
        with memoryview(self._maps[index]) as buffer:
            self._ends[index] = 0
            self.layout.begin(buffer, sequence)
            for name, value in state:
                place, offset, spec = self._places.get(name, (-1, 0, None))
                if spec is None or place in checksums:
                    raise StoreError("weights must be those of the layout, each once", got=name, at=self.folder)
                data = _bytes_of(value, spec)
                buffer[offset : offset + spec.num_bytes] = data
                checksums[place] = zlib.crc32(data)
            if missing := [name for name, (place, _, _) in self._places.items() if place not in checksums]:
                raise StoreError("weights must be complete", got=f"no {', '.join(missing)}", at=self.folder)
            self.layout.commit(buffer, sequence, version, [checksums[i] for i in range(len(checksums))])
        self._ends[index] = sequence
        replace_file(self.folder / "latest", msgspec.json.encode(Latest(version, sequence, index)))
        self._latest = index

    def close(self) -> None:
        """Let go of the files; what is published stays readable."""
        for mapped in self._maps:
            mapped.close()
        for descriptor in [*self._descriptors, *self._lock]:
            os.close(descriptor)
        self._maps, self._descriptors, self._lock = [], [], []

    def _open(self) -> None:
        path = self.folder / "layout.json"
        if path.exists() and (found := WeightLayout.read(path)) != self.layout:
            raise StoreError("a weight folder must keep its layout", got=f"{len(found.tensors)} other tensors", at=path)
        for index in range(self.layout.num_buffers):
            buffer = self.layout.buffer_path(self.folder, index)
            self._descriptors.append(os.open(buffer, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            try:
                # A hole in a full /dev/shm would end the process with SIGBUS at the first write.
                os.posix_fallocate(self._descriptors[-1], 0, self.layout.file_bytes)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                raise StoreError(
                    "a weight folder must have room", got=f"none for {self.layout.file_bytes} bytes", at=buffer
                ) from None
            self._maps.append(mmap.mmap(self._descriptors[-1], self.layout.file_bytes))
        self.layout.write(path)


def _bytes_of(value: "Array | Tensor", spec: TensorSpec) -> memoryview:
    if tuple(value.shape) != spec.shape:
        raise StoreError(f"{spec.name} must have shape {spec.shape}", got=tuple(value.shape))
    if isinstance(value, Array):
        if value.dtype != spec.dtype or len(value.data) != spec.num_bytes:
            raise StoreError(f"{spec.name} must be {spec.dtype}", got=f"{value.dtype}, {len(value.data)} bytes")
        return memoryview(value.data)
    import torch

    tensor = value.detach().to(device="cpu", dtype=getattr(torch, spec.dtype)).contiguous()
    return tensor.view(-1).view(torch.uint8).numpy().data if spec.num_bytes else memoryview(b"")
