"""From a Hugging Face configuration to a Megatron-core model.

Covers dense decoders of the llama, qwen2 and qwen3 families. Whatever a configuration asks for that Megatron would
silently do otherwise is refused here. Layers come from Transformer Engine where it is installed, otherwise from
Megatron's local specification with an attention core of our own, which needs no compiled extension.
"""

import importlib.util
import json
import math
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
import torch.nn.functional as F
from torch import Tensor

from assay.core.error import TrainerError
from assay.runtime.trainer import device
from assay.runtime.trainer.mapping import Heads
from assay.runtime.trainer.mcore import (
    GPTModel,
    TransformerConfig,
    get_gpt_layer_local_spec,
    get_gpt_layer_with_transformer_engine_spec,
    parallel_state,
)

FAMILIES = ("llama", "qwen2", "qwen3")
Precision = Literal["fp32", "bf16"]


class PolicyConfig(msgspec.Struct, frozen=True):
    """What a `config.json` says about the shape of a policy."""

    family: str
    num_layers: int
    hidden_size: int
    ffn_size: int
    heads: Heads
    vocab_size: int
    max_tokens: int
    norm_eps: float
    rope_theta: float
    is_tied: bool
    has_qkv_bias: bool
    has_qk_norm: bool


def read_policy_config(folder: Path) -> PolicyConfig:
    """Read `config.json` of a policy folder.

    Raises:
        TrainerError: it is not there, or asks for something that no layer here does.
    """
    path = folder / "config.json"
    try:
        raw: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise TrainerError("a policy folder must hold a readable config.json", got=error, at=path) from None
    family = raw.get("model_type")
    _demand(family in FAMILIES, f"model_type must be one of {', '.join(FAMILIES)}", family, path)
    _demand(raw.get("hidden_act", "silu") == "silu", "hidden_act must be silu", raw.get("hidden_act"), path)
    _demand(not raw.get("mlp_bias"), "mlp_bias must be false", True, path)
    _demand(not raw.get("attention_bias"), "attention_bias must be false", True, path)
    _demand(not raw.get("use_sliding_window"), "use_sliding_window must be false", True, path)
    rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    rope_type = rope.get("rope_type", rope.get("type", "default"))
    _demand(rope_type == "default", "rope_type must be default", rope_type, path)
    num_heads = raw["num_attention_heads"]
    return PolicyConfig(
        family=str(family),
        num_layers=raw["num_hidden_layers"],
        hidden_size=raw["hidden_size"],
        ffn_size=raw["intermediate_size"],
        heads=Heads(
            num_heads=num_heads,
            num_groups=raw.get("num_key_value_heads") or num_heads,
            head_dim=raw.get("head_dim") or raw["hidden_size"] // num_heads,
        ),
        vocab_size=raw["vocab_size"],
        max_tokens=raw["max_position_embeddings"],
        norm_eps=raw["rms_norm_eps"],
        rope_theta=rope.get("rope_theta", raw.get("rope_theta", 10000.0)),
        is_tied=bool(raw.get("tie_word_embeddings", False)),
        has_qkv_bias=family == "qwen2",
        has_qk_norm=family == "qwen3",
    )


def build_model(
    policy: PolicyConfig, tensor_parallel: int, pipeline_parallel: int, precision: Precision, hooks: dict[str, Any]
) -> GPTModel:
    """Build this rank's part of the model, its weights not yet set.

    Args:
        policy: Shape of the whole model.
        tensor_parallel: Ranks that divide each layer.
        pipeline_parallel: Ranks that divide the layers.
        precision: Of weights and arithmetic.
        hooks: Further fields of `TransformerConfig`, such as `finalize_model_grads_func`.

    Raises:
        TrainerError: the layout does not divide the model.
    """
    for what, number in (
        ("key-value heads", policy.heads.num_groups),
        ("vocabulary", policy.vocab_size),
        ("feed-forward size", policy.ffn_size),
    ):
        _demand(number % tensor_parallel == 0, f"tensor_parallel={tensor_parallel} must divide the {what}", number)
    _demand(
        policy.num_layers % pipeline_parallel == 0,
        f"pipeline_parallel={pipeline_parallel} must divide the layers",
        policy.num_layers,
    )
    rope_theta: Any = policy.rope_theta  # declared int, used as a float
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    config = TransformerConfig(
        num_layers=policy.num_layers,
        hidden_size=policy.hidden_size,
        ffn_hidden_size=policy.ffn_size,
        num_attention_heads=policy.heads.num_heads,
        num_query_groups=policy.heads.num_groups,
        kv_channels=policy.heads.head_dim,
        normalization="RMSNorm",
        layernorm_epsilon=policy.norm_eps,
        gated_linear_unit=True,
        activation_func=F.silu,
        add_bias_linear=False,
        add_qkv_bias=policy.has_qkv_bias,
        qk_layernorm=policy.has_qk_norm,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        tensor_model_parallel_size=tensor_parallel,
        pipeline_model_parallel_size=pipeline_parallel,
        params_dtype=dtype,
        pipeline_dtype=dtype,
        bf16=precision == "bf16",
        variable_seq_lengths=pipeline_parallel > 1,
        # Of no account for dense layers, but the default is refused together with variable lengths.
        moe_token_dispatcher_type="alltoall",
        calculate_per_token_loss=True,
        # Weights are read from a folder afterwards, but initialization also marks which ones are slices; without the
        # marks the gradient's norm counts only the slices of rank 0.
        perform_initialization=True,
        use_cpu_initialization=device.is_cpu(),
        persist_layer_norm=False,
        gradient_accumulation_fusion=False,
        masked_softmax_fusion=False,
        bias_dropout_fusion=False,
        bias_activation_fusion=False,
        apply_rope_fusion=False,
        cuda_graph_scope=[],
        **hooks,
    )
    return GPTModel(
        config=config,
        transformer_layer_spec=_layer_spec(policy),
        vocab_size=policy.vocab_size,
        max_sequence_length=policy.max_tokens,
        pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage(),
        share_embeddings_and_output_weights=policy.is_tied,
        position_embedding_type="rope",
        rotary_base=rope_theta,
    )


class AttentionCore(torch.nn.Module):
    """Causal attention through PyTorch's own kernels; padding must stand on the right."""

    def __init__(self, config: TransformerConfig, layer_number: int, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.scale = 1.0 / math.sqrt(config.kv_channels or config.hidden_size // config.num_attention_heads)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
    ) -> Tensor:
        """Attend.

        Args:
            query: Shape (T, B, heads, head_dim).
            key: Shape (T, B, groups, head_dim).
            value: Shape (T, B, groups, head_dim).
            attention_mask: Unused; every position sees itself and what stands before it.

        Returns:
            Shape (T, B, heads * head_dim).
        """
        mixed = F.scaled_dot_product_attention(
            query.permute(1, 2, 0, 3),
            key.permute(1, 2, 0, 3),
            value.permute(1, 2, 0, 3),
            is_causal=True,
            scale=self.scale,
            enable_gqa=query.shape[2] != key.shape[2],
        )
        return mixed.permute(2, 0, 1, 3).flatten(2)


def _layer_spec(policy: PolicyConfig) -> Any:
    if not device.is_cpu() and importlib.util.find_spec("transformer_engine") is not None:
        return get_gpt_layer_with_transformer_engine_spec(qk_layernorm=policy.has_qk_norm)
    spec: Any = get_gpt_layer_local_spec(qk_layernorm=policy.has_qk_norm, normalization="RMSNorm")
    spec.submodules.self_attention.submodules.core_attention = AttentionCore
    return spec


def _demand(holds: bool, must: str, got: object, at: Path | None = None) -> None:
    if not holds:
        raise TrainerError(must, got=got, at=at)
