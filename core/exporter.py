"""Exporters: a checkpoint in another format."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from assay.core.array import Array


class Exporter(Protocol):
    """Writes policies in one format; made once by `assay export` as `factory(**options)`."""

    def write(self, folder: Path, state: Iterable[tuple[str, Array]], policy: Path) -> None:
        """Write one policy.

        Args:
            folder: Exists, is empty, and is renamed to its place once this returns: what failed is never seen.
            state: Every weight once, under its Hugging Face name, float32; read as it is asked for, so that they need
                not be in memory all at once.
            policy: Folder with the `config.json` and the tokenizer of this policy.

        Raises:
            ConfigError: the format cannot hold this policy.
        """
        ...
