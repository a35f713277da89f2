"""Sources that break one clause each, and one that breaks none."""

import random
from typing import Any

import assay


class Numbers:
    def __init__(self, size: int, seed: int = 0, split: str = "train") -> None:
        self.size = size
        self.first = seed * 1000 + (0 if split == "train" else 500)

    def __len__(self) -> int:
        return self.size

    def read(self, index: int) -> dict[str, Any]:
        if not 0 <= index < self.size:
            raise IndexError(index)
        return {"question": str(self.first + index)}


@assay.source("wrong.none", version=1)
def right(size: int, seed: int = 0, split: str = "train") -> Numbers:
    """Numbers."""
    return Numbers(size, seed, split)


@assay.source("wrong.bare", version=1)
def bare(size) -> Numbers:
    """Take something of no type."""
    return Numbers(size)


@assay.source("wrong.shut", version=1)
def shut(size: int) -> Numbers:
    """Do not open."""
    raise OSError("no disk")


class Endless(Numbers):
    def read(self, index: int) -> dict[str, Any]:
        return super().read(index % self.size)


@assay.source("wrong.endless", version=1)
def endless(size: int) -> Numbers:
    """Begin again behind the end."""
    return Endless(size)


class Unfit(Numbers):
    def read(self, index: int) -> dict[str, Any]:
        row = super().read(index)
        return row if index < self.size - 1 else {"question": index}


@assay.source("wrong.unfit", version=1)
def unfit(size: int) -> Numbers:
    """Make of the last row something else."""
    return Unfit(size)


class Set(Numbers):
    def read(self, index: int) -> dict[str, Any]:
        return {**super().read(index), "tags": {object()}}


@assay.source("wrong.unsendable", version=1)
def unsendable(size: int) -> Numbers:
    """Give what nobody can store."""
    return Set(size)


class Walking(Numbers):
    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.random = random.Random(0)

    def read(self, index: int) -> dict[str, Any]:
        super().read(index)
        return {"question": str(self.random.random())}


@assay.source("wrong.walking", version=1)
def walking(size: int) -> Numbers:
    """Draw the next number, whatever was asked for."""
    return Walking(size)


class Shared(Numbers):
    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.rows = [{"question": str(index)} for index in range(size)]

    def read(self, index: int) -> dict[str, Any]:
        return self.rows[index]


@assay.source("wrong.shared", version=1)
def shared(size: int) -> Numbers:
    """Hand out its own rows."""
    return Shared(size)


class Hashed(Numbers):
    def read(self, index: int) -> dict[str, Any]:
        super().read(index)
        return {"question": str(hash(f"row {index}"))}


@assay.source("wrong.hashed", version=1)
def hashed(size: int) -> Numbers:
    """Depend on the hash of a text, which each process has its own of."""
    return Hashed(size)


@assay.source("wrong.leaking", version=1)
def leaking(size: int, split: str = "train") -> Numbers:
    """Practise what is measured."""
    return Numbers(size)


@assay.source("wrong.stubborn", version=1)
def stubborn(size: int, seed: int = 0) -> Numbers:
    """Give the same whatever the seed."""
    return Numbers(size)
