"""A fresh policy from a declaration: a Llama-style folder with random weights and a made tokenizer.

The same declaration and seed give the same bytes. Deviation from the Llama papers: projections that write into the
residual stream start smaller, by sqrt(2 layers), and embeddings have a standard deviation of their own.
"""

import json
import math
from pathlib import Path

import msgspec

from assay.runtime.policy.architecture import Architecture
from assay.runtime.policy.vocabulary import END, PAD, SEPARATOR, write_tokenizer


class PolicySpec(msgspec.Struct, frozen=True, kw_only=True):
    """A policy to make; the keys of `conf/policy/tiny.yaml` and `bytes.yaml`.

    Attributes:
        hidden: Width of the residual stream.
        layers: Blocks.
        heads: Query heads; divide `hidden`.
        kv_heads: Key and value heads; divide `heads`.
        ffn: Width inside the gated feed-forward.
        max_positions: Most tokens of one sequence.
        rope_theta: Base of the rotary frequencies.
        init_std: Standard deviation of linear weights; residual projections get it / sqrt(2 * layers).
        embedding_std: Standard deviation of embeddings.
        tie_embeddings: The output layer is the embedding.
        words: Tokens of more than one character.
        characters: Tokens of one character; None makes every byte a token, and takes no words.
        seed: Of the random weights.
    """

    words: tuple[str, ...] = ()
    characters: str | None = None
    hidden: int = 96
    layers: int = 2
    heads: int = 4
    kv_heads: int = 4
    ffn: int = 256
    max_positions: int = 64
    rope_theta: float = 10.0
    init_std: float = 0.05
    embedding_std: float = 0.3
    tie_embeddings: bool = True
    seed: int = 0


def initialize(folder: Path, spec: PolicySpec) -> Architecture:
    """Write a fresh policy: config, weights, tokenizer, generation defaults and chat format.

    Raises:
        ConfigError: sizes or tokens that cannot be meant.
        OSError: the folder cannot be written.
    """
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tokens = write_tokenizer(folder, spec.words, spec.characters, spec.max_positions)
    shape = Architecture(
        family="llama",
        vocab_size=len(tokens),
        hidden_size=spec.hidden,
        ffn_size=spec.ffn,
        num_layers=spec.layers,
        num_heads=spec.heads,
        num_kv_heads=spec.kv_heads,
        head_dim=spec.hidden // spec.heads,
        rope_theta=spec.rope_theta,
        is_tied=spec.tie_embeddings,
        max_context=spec.max_positions,
    )
    generator = torch.Generator().manual_seed(spec.seed)
    state = {}
    for name, size in shape.tensors().items():
        if name.endswith("norm.weight"):
            state[name] = torch.ones(size)
            continue
        std = spec.init_std
        if name.endswith("embed_tokens.weight"):
            std = spec.embedding_std
        elif name.endswith(("o_proj.weight", "down_proj.weight")):
            std /= math.sqrt(2 * spec.layers)
        state[name] = torch.randn(size, generator=generator) * std
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    ids = {"eos_token_id": tokens[END], "pad_token_id": tokens[PAD], "bos_token_id": None}
    _write(folder / "config.json", shape.to_config(**ids, initializer_range=spec.init_std))
    _write(folder / "generation_config.json", ids)
    _write(folder / "assay.json", {"chat_format": "plain", "separator": SEPARATOR})
    return shape


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
