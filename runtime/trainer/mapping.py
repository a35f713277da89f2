"""Weights under two names: Hugging Face (llama, qwen2, qwen3) and Megatron-core.

Megatron fuses query, key and value per group of heads, and gate and up per rank; a tensor-parallel rank holds a slice,
a pipeline stage some layers. This module knows that layout and nothing else: it never touches a process group. Both
layer specs are covered; Transformer Engine keeps the norms' weights inside the linear layers that follow them.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from assay.core.error import TrainerError

Fusion = Literal["whole", "column", "row", "qkv", "gated"]

_LAYER: dict[str, tuple[Fusion, tuple[str, ...]]] = {
    "input_layernorm.weight": ("whole", ("input_layernorm.weight",)),
    "self_attention.linear_qkv.layer_norm_weight": ("whole", ("input_layernorm.weight",)),
    "self_attention.linear_qkv.weight": ("qkv", tuple(f"self_attn.{x}_proj.weight" for x in "qkv")),
    "self_attention.linear_qkv.bias": ("qkv", tuple(f"self_attn.{x}_proj.bias" for x in "qkv")),
    "self_attention.q_layernorm.weight": ("whole", ("self_attn.q_norm.weight",)),
    "self_attention.k_layernorm.weight": ("whole", ("self_attn.k_norm.weight",)),
    "self_attention.linear_proj.weight": ("row", ("self_attn.o_proj.weight",)),
    "pre_mlp_layernorm.weight": ("whole", ("post_attention_layernorm.weight",)),
    "mlp.linear_fc1.layer_norm_weight": ("whole", ("post_attention_layernorm.weight",)),
    "mlp.linear_fc1.weight": ("gated", ("mlp.gate_proj.weight", "mlp.up_proj.weight")),
    "mlp.linear_fc2.weight": ("row", ("mlp.down_proj.weight",)),
}
_TOP: dict[str, tuple[Fusion, tuple[str, ...]]] = {
    "embedding.word_embeddings.weight": ("column", ("model.embed_tokens.weight",)),
    "decoder.final_layernorm.weight": ("whole", ("model.norm.weight",)),
    "output_layer.weight": ("column", ("lm_head.weight",)),
}


class Heads(NamedTuple):
    """Attention heads of the whole model: queries, groups (key-value heads) and size of one head."""

    num_heads: int
    num_groups: int
    head_dim: int


class Mapped(NamedTuple):
    """One Megatron parameter and the Hugging Face weights it holds.

    Attributes:
        parameter: Name in this stage's model.
        layout: How it is fused and divided.
        names: Hugging Face names, in the order of the fusion.
        is_copy: A second home of a tied weight: read from the first, never exported.
    """

    parameter: str
    layout: Fusion
    names: tuple[str, ...]
    is_copy: bool = False


def map_parameters(parameters: Sequence[str], first_layer: int, is_tied: bool) -> list[Mapped]:
    """Name the Hugging Face weights of every parameter of a stage, in the order given.

    Args:
        parameters: Names as `GPTModel.named_parameters` gives them.
        first_layer: Index of this stage's first layer in the whole model.
        is_tied: Whether the output layer is the embedding.

    Raises:
        TrainerError: a parameter that no layout covers.
    """
    mapped = []
    for parameter in parameters:
        found = _TOP.get(parameter)
        layer = re.fullmatch(r"decoder\.layers\.(\d+)\.(.+)", parameter)
        if found is not None:
            is_copy = is_tied and parameter == "output_layer.weight"
            names = ("model.embed_tokens.weight",) if is_copy else found[1]
            mapped.append(Mapped(parameter, found[0], names, is_copy))
        elif layer is not None and layer[2] in _LAYER:
            layout, short = _LAYER[layer[2]]
            prefix = f"model.layers.{first_layer + int(layer[1])}."
            mapped.append(Mapped(parameter, layout, tuple(prefix + name for name in short)))
        else:
            raise TrainerError("every parameter must have a Hugging Face name", got=parameter)
    return mapped


def to_shard(layout: Fusion, weights: Sequence[Tensor], heads: Heads, rank: int, size: int) -> Tensor:
    """Fuse Hugging Face weights and return the slice of one tensor-parallel rank."""
    if layout == "whole":
        return weights[0]
    if layout == "column":
        return weights[0].chunk(size, dim=0)[rank]
    if layout == "row":
        return weights[0].chunk(size, dim=1)[rank]
    if layout == "gated":
        return torch.cat([weight.chunk(size, dim=0)[rank] for weight in weights])
    tail = weights[0].shape[1:]
    grouped = torch.cat([weight.reshape(heads.num_groups, -1, *tail) for weight in weights], dim=1)
    return grouped.chunk(size, dim=0)[rank].reshape(-1, *tail)


def from_shards(layout: Fusion, shards: Sequence[Tensor], heads: Heads) -> list[Tensor]:
    """Undo `to_shard`: from the slices of all tensor-parallel ranks to Hugging Face weights."""
    if layout == "whole":
        return [shards[0]]
    if layout == "column":
        return [torch.cat(list(shards), dim=0)]
    if layout == "row":
        return [torch.cat(list(shards), dim=1)]
    if layout == "gated":
        halves = [shard.chunk(2, dim=0) for shard in shards]
        return [torch.cat([half[part] for half in halves]) for part in range(2)]
    tail = shards[0].shape[1:]
    grouped = torch.cat(list(shards)).reshape(heads.num_groups, -1, *tail)
    rows = (heads.num_heads // heads.num_groups) * heads.head_dim
    parts = grouped.split([rows, heads.head_dim, heads.head_dim], dim=1)
    return [part.reshape(-1, *tail) for part in parts]
