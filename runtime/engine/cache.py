"""Keys and values of all rows, in one tensor made once.

A row is a slot for one request, `max_context` positions long. Rows that a step touches lie side by side, so attention
reads them in place; a prefix moves between rows by copy. Pages of a row are taken from the system when first written,
so a large `max_context` costs address space, not memory, on a CPU.

Shape suffixes: N tokens of all rows, B rows, T positions, A query heads, K key heads, G = A / K, D head.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from assay.core.error import EngineError
from assay.runtime.policy.architecture import Architecture
from assay.runtime.policy.model import Attend

Index = NDArray[np.int64]

_BAND_ROWS = 16
_BAND_REACH = 128


class Cache:
    """Keys and values.

    Args:
        shape: Of the policy.
        num_rows: Slots.
        max_context: Positions of a slot.
        device: Where.
        dtype: Of the activations.

    Raises:
        EngineError: there is not so much memory.
    """

    def __init__(
        self, shape: Architecture, num_rows: int, max_context: int, device: torch.device, dtype: torch.dtype
    ) -> None:
        self.num_kv_heads = shape.num_kv_heads
        self._group = shape.num_heads // shape.num_kv_heads
        self.max_context = max_context
        self.device = device
        # Zeros: a masked position has weight 0, and 0 times what uninitialised memory may hold is not 0.
        size = (shape.num_layers, 2, num_rows, shape.num_kv_heads, max_context, shape.head_dim)
        try:
            self._kv = torch.zeros(size, device=device, dtype=dtype)
        except RuntimeError:  # torch's CPU allocator raises no narrower one
            raise EngineError(
                "keys and values of all rows must fit into memory",
                got=f"{math.prod(size) * dtype.itemsize / 1e9:.1f} GB for {num_rows} rows of {max_context}",
                todo="Lower engine.max_active or engine.max_context",
            ) from None
        self._flat = self._kv.view(shape.num_layers, 2, -1, shape.head_dim)

    @property
    def num_bytes(self) -> int:
        """Size when every position of every row was used."""
        return self._kv.numel() * self._kv.element_size()

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Layers, keys and values, key heads, positions, width."""
        return (*self._kv.shape[:2], *self._kv.shape[3:])

    def fill(self, row: Tensor) -> None:
        """Give every row the same keys and values."""
        self._kv.copy_(row.unsqueeze(2))

    def move(self, sources: Index, targets: Index, length: int) -> None:
        """Copy the first `length` positions of some rows to others; the two sets are disjoint."""
        if len(sources) and length:
            source, target = torch.from_numpy(sources).to(self.device), torch.from_numpy(targets).to(self.device)
            self._kv[:, :, target, :, :length] = self._kv[:, :, source, :, :length]

    def share(self, source: int, first: int, end: int, length: int) -> None:
        """Copy the first `length` positions of one row to the rows `first` to `end`."""
        if end > first and length:
            self._kv[:, :, first:end, :, :length] = self._kv[:, :, source : source + 1, :, :length]

    def attend(self, first: int, starts_B: Index, counts_B: Index, context: int | None = None) -> tuple[Tensor, Attend]:
        """Prepare attention for new tokens of neighbouring rows.

        Args:
            first: First row.
            starts_B: Positions each row has already.
            counts_B: New tokens of each row, at least 1 of them all; tokens are packed in row order.
            context: Positions to read, 0 for as few as will do; where None rows may also be read in several bands.

        Returns:
            Positions of the packed tokens, and the attention that writes their keys and values and reads the rows.
        """
        rows, most = len(starts_B), int(counts_B.max())
        reach = context or int((starts_B + counts_B).max())
        row_N = np.repeat(np.arange(rows), counts_B)
        offset_N = np.arange(len(row_N)) - np.repeat(np.cumsum(counts_B) - counts_B, counts_B)
        position_N = starts_B[row_N] + offset_N
        heads_K = np.arange(self.num_kv_heads)
        write_NK = ((first + row_N)[:, None] * self.num_kv_heads + heads_K) * self.max_context + position_N[:, None]
        write = torch.from_numpy(write_NK.reshape(-1)).to(self.device)
        is_full = bool((counts_B == most).all())
        if most == 1 and is_full and context is None and len(bands := self._bands(starts_B)) > 1:
            return self._attend_bands(first, starts_B, bands)
        padded = None if is_full else torch.from_numpy(row_N * most + offset_N).to(self.device)
        is_causal = most == reach > 1 and not starts_B.any()
        mask = None if is_causal else self._mask(starts_B, most, reach)

        def attend(layer: int, q_NAD: Tensor, k_NKD: Tensor, v_NKD: Tensor) -> Tensor:
            width = q_NAD.shape[-1]
            keys, values = self._flat[layer]
            keys.index_copy_(0, write, k_NKD.reshape(-1, width))
            values.index_copy_(0, write, v_NKD.reshape(-1, width))
            k, v = self._kv[layer, :, first : first + rows, :, :reach]
            if padded is not None:
                q_NAD = q_NAD.new_zeros(rows * most, *q_NAD.shape[1:]).index_copy_(0, padded, q_NAD)
            q = q_NAD.unflatten(0, (rows, most)).transpose(1, 2)
            if is_causal:
                found = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self._group > 1)
            else:
                # Query heads of one group as further queries of their key head: one pass over its keys.
                q = q.reshape(rows, self.num_kv_heads, -1, width)
                found = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).view(rows, -1, most, width)
            found = found.transpose(1, 2).reshape(rows * most, -1, width)
            return found if padded is None else found[padded]

        return torch.from_numpy(position_N).to(self.device), attend

    def _bands(self, starts_B: Index) -> list[slice]:
        """Return neighbouring rows to attend together: all, unless one long row would make many short ones read far.

        A position costs the same whether it is masked or not; a band costs a call.
        """
        rows = len(starts_B)
        if rows <= _BAND_ROWS or int(starts_B.max()) < _BAND_REACH:
            return [slice(0, rows)]
        bands = [slice(row, min(row + _BAND_ROWS, rows)) for row in range(0, rows, _BAND_ROWS)]
        apart = sum(int(starts_B[band].max()) * (band.stop - band.start) for band in bands)
        return bands if apart < 0.8 * int(starts_B.max()) * rows else [slice(0, rows)]

    def _attend_bands(self, first: int, starts_B: Index, bands: list[slice]) -> tuple[Tensor, Attend]:
        parts = [
            self.attend(first + band.start, starts_B[band], np.ones(band.stop - band.start, np.int64), 0)
            for band in bands
        ]

        def attend(layer: int, q_NAD: Tensor, k_NKD: Tensor, v_NKD: Tensor) -> Tensor:
            contexts = [
                part(layer, q_NAD[band], k_NKD[band], v_NKD[band]) for band, (_, part) in zip(bands, parts, strict=True)
            ]
            return torch.cat(contexts)

        return torch.cat([positions for positions, _ in parts]), attend

    def _mask(self, starts_B: Index, most: int, reach: int) -> Tensor | None:
        if most == 1 and (starts_B == reach - 1).all():
            return None
        last_BM = torch.from_numpy(starts_B[:, None] + np.arange(most)).to(self.device)
        is_hidden = torch.arange(reach, device=self.device) > last_BM.unsqueeze(-1)
        mask = torch.zeros(is_hidden.shape, device=self.device, dtype=self._kv.dtype)
        mask = mask.masked_fill_(is_hidden, -torch.inf).unsqueeze(1)
        return mask.repeat(1, 1, self._group, 1) if self._group > 1 and most > 1 else mask
