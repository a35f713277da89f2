"""Arrays on the wire and in storage: a dtype, a shape and raw bytes, never a list.

Little-endian, C order. numpy and torch read the bytes without a copy; this module needs neither.
"""

import array as stdlib_array
import math
import sys
from collections.abc import Iterable

import msgspec

_TYPECODES = {"int32": "i", "int64": "q", "float32": "f", "float64": "d", "uint8": "B"}


class Array(msgspec.Struct, frozen=True, array_like=True):
    """A dense array.

    Attributes:
        dtype: One of int32, int64, float32, float64, uint8.
        shape: Length of each axis.
        data: Raw bytes, `prod(shape) * itemsize` of them.
    """

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @classmethod
    def of(cls, values: Iterable[int] | Iterable[float], dtype: str) -> "Array":
        """Pack a flat sequence of numbers; shape (n,)."""
        packed = stdlib_array.array(_TYPECODES[dtype], values)
        if sys.byteorder == "big":
            packed.byteswap()
        return cls(dtype, (len(packed),), packed.tobytes())

    def to_list(self) -> list[int] | list[float]:
        """Return all values in C order, flat.

        Raises:
            ValueError: the bytes do not match dtype and shape.
        """
        values = stdlib_array.array(_TYPECODES[self.dtype])
        if len(self.data) != math.prod(self.shape) * values.itemsize:
            raise ValueError(f"{self.dtype}{list(self.shape)} must have its bytes, got {len(self.data)}")
        values.frombytes(self.data)
        if sys.byteorder == "big":
            values.byteswap()
        return values.tolist()

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 1
