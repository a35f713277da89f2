"""The shape of a policy: what `config.json` of a Llama, Qwen2 or Qwen3 style folder says, checked once.

Needs no torch, so that a plan can be made without it.
"""

import json
from pathlib import Path
from typing import Any, Literal

import msgspec

from assay.core.error import ConfigError

Family = Literal["llama", "qwen2", "qwen3"]

_CLASSES: dict[Family, str] = {
    "llama": "LlamaForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}


class Architecture(msgspec.Struct, frozen=True, kw_only=True):
    """A decoder with RMS norms, rotary positions, grouped-query attention and a gated SiLU feed-forward.

    Attributes:
        family: Which Hugging Face class reads the folder.
        vocab_size: Rows of the embedding.
        hidden_size: Width of the residual stream.
        ffn_size: Width between the two halves of the feed-forward.
        num_layers: Blocks.
        num_heads: Query heads.
        num_kv_heads: Key and value heads; divides `num_heads`.
        head_dim: Width of a head; even.
        rope_theta: Base of the rotary frequencies.
        norm_eps: Added to the mean square.
        is_tied: The output layer is the embedding.
        has_qkv_bias: Query, key and value projections have biases.
        has_output_bias: The output projection of attention has a bias.
        has_ffn_bias: The feed-forward has biases.
        has_qk_norm: Queries and keys are normalised per head.
        max_context: Most positions.
    """

    family: Family
    vocab_size: int
    hidden_size: int
    ffn_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rope_theta: float = 10000.0
    norm_eps: float = 1e-6
    is_tied: bool = False
    has_qkv_bias: bool = False
    has_output_bias: bool = False
    has_ffn_bias: bool = False
    has_qk_norm: bool = False
    max_context: int = 2048

    def __post_init__(self) -> None:
        sizes = (self.vocab_size, self.hidden_size, self.ffn_size, self.num_layers, self.num_heads, self.num_kv_heads)
        if min(*sizes, self.head_dim, self.max_context) < 1:
            raise ConfigError("all sizes of a policy must be at least 1", got=sizes)
        if self.num_heads % self.num_kv_heads:
            raise ConfigError(
                "num_key_value_heads must divide num_attention_heads", got=f"{self.num_kv_heads} and {self.num_heads}"
            )
        if self.head_dim % 2:
            raise ConfigError("head_dim must be even, rotary positions turn pairs", got=self.head_dim)

    @classmethod
    def read(cls, folder: Path) -> "Architecture":
        """Read `config.json` of a policy folder.

        Raises:
            ConfigError: the file is missing or broken, or asks for what this project's models do not have.
        """
        path = Path(folder) / "config.json"
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError("a policy folder must have a config.json", got=error.strerror, at=path) from None
        except ValueError as error:
            raise ConfigError("config.json must be JSON", got=error, at=path) from None
        try:
            return cls.of_config(config)
        except KeyError as error:
            raise ConfigError(f"config.json must have {error}", at=path) from None
        except ConfigError as error:
            raise ConfigError(error.must, got=error.got, at=path, todo=error.todo) from None

    @classmethod
    def of_config(cls, config: dict[str, Any]) -> "Architecture":
        """Read the content of a `config.json`, in the spelling of transformers 4 or 5.

        Raises:
            ConfigError: the model is of another family or uses scaled rotary positions or sliding windows.
            KeyError: a size is missing.
        """
        family = config.get("model_type")
        if family not in _CLASSES:
            raise ConfigError("model_type must be llama, qwen2 or qwen3", got=family)
        rope = config.get("rope_parameters") or {}
        scaling = config.get("rope_scaling") or rope
        if (rope_type := scaling.get("rope_type", scaling.get("type", "default"))) != "default":
            raise ConfigError("rotary positions must be unscaled", got=rope_type)
        if config.get("use_sliding_window"):
            raise ConfigError("attention must be full", got="use_sliding_window")
        if (activation := config.get("hidden_act", "silu")) != "silu":
            raise ConfigError("hidden_act must be silu", got=activation)
        heads = config["num_attention_heads"]
        has_bias = bool(config.get("attention_bias", False))
        return cls(
            family=family,
            vocab_size=config["vocab_size"],
            hidden_size=config["hidden_size"],
            ffn_size=config["intermediate_size"],
            num_layers=config["num_hidden_layers"],
            num_heads=heads,
            num_kv_heads=config.get("num_key_value_heads") or heads,
            head_dim=config.get("head_dim") or (128 if family == "qwen3" else config["hidden_size"] // heads),
            rope_theta=float(rope.get("rope_theta", config.get("rope_theta", 10000.0))),
            norm_eps=config.get("rms_norm_eps", 1e-6),
            is_tied=bool(config.get("tie_word_embeddings", False)),
            has_qkv_bias=family == "qwen2" or has_bias,
            has_output_bias=family != "qwen2" and has_bias,
            has_ffn_bias=bool(config.get("mlp_bias", False)),
            has_qk_norm=family == "qwen3",
            max_context=config.get("max_position_embeddings", 2048),
        )

    def to_config(self, **extra: Any) -> dict[str, Any]:
        """Return a `config.json` that plain transformers reads; `extra` adds keys such as `eos_token_id`."""
        config: dict[str, Any] = {
            "architectures": [_CLASSES[self.family]],
            "model_type": self.family,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.ffn_size,
            "num_hidden_layers": self.num_layers,
            "num_attention_heads": self.num_heads,
            "num_key_value_heads": self.num_kv_heads,
            "head_dim": self.head_dim,
            "hidden_act": "silu",
            "rms_norm_eps": self.norm_eps,
            "rope_theta": self.rope_theta,
            "rope_parameters": {"rope_theta": self.rope_theta, "rope_type": "default"},
            "tie_word_embeddings": self.is_tied,
            "max_position_embeddings": self.max_context,
            "dtype": "float32",
        }
        if self.family != "qwen2":
            config["attention_bias"] = self.has_qkv_bias
        if self.family == "llama":
            config["mlp_bias"] = self.has_ffn_bias
        return config | extra

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Return Hugging Face name -> shape of every weight, in the order of the network."""
        hidden, ffn = self.hidden_size, self.ffn_size
        query, key = self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim
        shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (self.vocab_size, hidden)}
        for index in range(self.num_layers):
            at = f"model.layers.{index}"
            shapes[f"{at}.input_layernorm.weight"] = (hidden,)
            for name, rows in (("q_proj", query), ("k_proj", key), ("v_proj", key)):
                shapes[f"{at}.self_attn.{name}.weight"] = (rows, hidden)
                if self.has_qkv_bias:
                    shapes[f"{at}.self_attn.{name}.bias"] = (rows,)
            if self.has_qk_norm:
                shapes[f"{at}.self_attn.q_norm.weight"] = (self.head_dim,)
                shapes[f"{at}.self_attn.k_norm.weight"] = (self.head_dim,)
            shapes[f"{at}.self_attn.o_proj.weight"] = (hidden, query)
            if self.has_output_bias:
                shapes[f"{at}.self_attn.o_proj.bias"] = (hidden,)
            shapes[f"{at}.post_attention_layernorm.weight"] = (hidden,)
            for name, rows, columns in (
                ("gate_proj", ffn, hidden),
                ("up_proj", ffn, hidden),
                ("down_proj", hidden, ffn),
            ):
                shapes[f"{at}.mlp.{name}.weight"] = (rows, columns)
                if self.has_ffn_bias:
                    shapes[f"{at}.mlp.{name}.bias"] = (rows,)
        shapes["model.norm.weight"] = (hidden,)
        if not self.is_tied:
            shapes["lm_head.weight"] = (self.vocab_size, hidden)
        return shapes
