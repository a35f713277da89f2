"""Whole tensors under Hugging Face names, and this rank's slices of them under Megatron's.

Weights and optimizer moments have the same shapes, so both go through here. Every rank calls `gather` alike: slices are
joined over the tensor-parallel ranks and handed on from stage to stage.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from assay.core.error import TrainerError
from assay.runtime.trainer.layout import Layout
from assay.runtime.trainer.mapping import Heads, Mapped, from_shards, to_shard


class ShardMap:
    """The parameters of one rank.

    Args:
        mapped: Parameters of this stage and what they hold.
        heads: Attention heads of the whole model.
        layout: This rank's place.
        device: Where the weights are.
    """

    def __init__(self, mapped: Sequence[Mapped], heads: Heads, layout: Layout, device: torch.device) -> None:
        self._mapped = mapped
        self._heads = heads
        self._layout = layout
        self._device = device

    def shards(self, whole: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
        """Yield this rank's slice of every parameter.

        Raises:
            TrainerError: a weight is missing.
        """
        for mapped in self._mapped:
            missing = [name for name in mapped.names if name not in whole]
            if missing:
                raise TrainerError("a policy must bring all its weights", got=f"no {missing[0]}")
            weights = [whole[name] for name in mapped.names]
            place = self._layout.tensor_rank, self._layout.tensor_size
            yield mapped.parameter, to_shard(mapped.layout, weights, self._heads, *place)

    def gather(self, tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
        """Yield whole tensors on every rank, from one slice per parameter."""
        layout = self._layout
        for stage, source in enumerate(layout.stages):
            whole = list(self._join(tensors)) if stage == layout.stage else []
            if layout.num_stages > 1:
                shapes: list[Any] = [[(name, tuple(tensor.shape), tensor.dtype) for name, tensor in whole]]
                dist.broadcast_object_list(shapes, source, group=layout.stage_group)
                if stage != layout.stage:
                    whole = [(n, torch.zeros(s, dtype=d, device=self._device)) for n, s, d in shapes[0]]
                for _, tensor in whole:
                    dist.broadcast(tensor, source, group=layout.stage_group)
            yield from whole

    def _join(self, tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
        for mapped in self._mapped:
            if mapped.is_copy:
                continue
            slices = [tensors[mapped.parameter].detach()]
            if self._layout.tensor_size > 1 and mapped.layout != "whole":
                own = slices[0].contiguous()
                slices = [torch.empty_like(own) for _ in range(self._layout.tensor_size)]
                dist.all_gather(slices, own, group=self._layout.tensor_group)
            for name, weight in zip(mapped.names, from_shards(mapped.layout, slices, self._heads), strict=True):
                yield name, weight.contiguous()
