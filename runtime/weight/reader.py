"""An engine's end: takes a whole version, or says that there is none.

A reader holds no lock: it may be stopped or killed at any point, and nobody waits for it. What it copied counts only
if the buffer's header is afterwards what it was before.
"""

import mmap
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from assay.core.error import StoreError
from assay.core.trajectory import WeightVersion
from assay.runtime.weight.layout import Header, TensorSpec, WeightLayout, read_latest

State = Iterator[tuple[TensorSpec, memoryview]]


class WeightReader:
    """Reads published versions.

    Args:
        folder: Of the publisher.

    Raises:
        StoreError: nothing was ever laid out there.

    Attributes:
        folder: Of the publisher.
        num_torn: Copies that were thrown away because the publisher came by.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.num_torn = 0
        self._descriptors: list[int] = []
        self._maps: list[mmap.mmap] = []
        self._open()

    def latest(self) -> WeightVersion | None:
        """Return the newest version; None before the first."""
        found = read_latest(self.folder)
        return None if found is None else found.version

    def versions(self) -> list[WeightVersion]:
        """Return all whole versions, oldest first."""
        headers = [header for header in self._headers() if header is not None and header.is_whole]
        return [header.version for header in sorted(headers, key=lambda header: header.end)]

    def read(self, version: WeightVersion, take: Callable[[State], None], attempts: int = 3) -> None:
        """Give one version to `take`, again if the publisher overwrote it meanwhile.

        Args:
            version: Which one.
            take: Copies every tensor out of the views it is given, which are of no use afterwards. What it copied is
                worth nothing until `read` returns.
            attempts: How often.

        Raises:
            StoreError: no buffer holds that version whole, or its checksums do not fit.
        """
        for _ in range(attempts):
            index, header = self._find(version)
            torn: list[str] = []
            take(self._state(index, header, torn))
            if self.layout.read_header(self._descriptors[index]) == header:
                if not torn:
                    return
                raise StoreError(
                    f"weights {version} must fit their checksums", got=f"a damaged {torn[0]}", at=self.folder
                )
            self.num_torn += 1
        raise StoreError(f"weights {version} must hold still", got=f"{attempts} torn copies", at=self.folder)

    def close(self) -> None:
        """Let go of the files."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        # Views that a caller still holds keep their map alive.
        self._maps, self._descriptors = [], []

    def _state(self, index: int, header: Header, torn: list[str]) -> State:
        sums = memoryview(header.checksums).cast("I")
        buffer = memoryview(self._maps[index])
        for spec, offset, expected in zip(self.layout.tensors, self.layout.offsets, sums, strict=True):
            view = buffer[offset : offset + spec.num_bytes]
            if zlib.crc32(view) != expected:
                torn.append(spec.name)
            yield spec, view

    def _find(self, version: WeightVersion) -> tuple[int, Header]:
        for is_last in (False, True):
            for index, header in enumerate(self._headers()):
                if header is not None and header.is_whole and header.version == version:
                    return index, header
            if not is_last:
                # A publisher that had to start afresh has made new files under the same names.
                self.close()
                self._open()
        held = ", ".join(map(str, self.versions())) or "none"
        raise StoreError(f"a buffer must hold weights {version}", got=held, at=self.folder)

    def _headers(self) -> list[Header | None]:
        return [self.layout.read_header(descriptor) for descriptor in self._descriptors]

    def _open(self) -> None:
        self.layout = WeightLayout.read(self.folder / "layout.json")
        try:
            for index in range(self.layout.num_buffers):
                path = self.layout.buffer_path(self.folder, index)
                self._descriptors.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
                # Private and writable only because torch warns of read-only memory; nothing writes here.
                access = {"flags": mmap.MAP_PRIVATE, "prot": mmap.PROT_READ | mmap.PROT_WRITE}
                self._maps.append(mmap.mmap(self._descriptors[-1], self.layout.file_bytes, **access))
        except (OSError, ValueError) as error:
            self.close()
            raise StoreError("a weight folder must have its buffers", got=error, at=self.folder) from None
