"""The policy as the engine runs it: weights fused for speed, one forward pass for prompts, steps and whole sequences.

Invariants
* `Weights.targets` maps every Hugging Face name to a view into the fused tensors, so that new weights are copied once.
* Rows of query and key projections are kept in pair order (x0, x_{d/2}, x1, ...), where Hugging Face keeps halves.
  Rotary positions are then one complex product. Scores do not change: queries and keys are permuted alike.
* Nothing depends on the device; log-probs are float32 whatever the dtype of the weights.

Shape suffixes: N tokens of all rows, B rows, T positions, H hidden, V vocabulary, A query heads, K key heads, D head.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from assay.core.error import ConfigError
from assay.runtime.policy.architecture import Architecture

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, q_NAD, k_NKD, v_NKD) -> context_NAD: attention, over whatever the caller keeps."""


class Layer:
    """Weights of one block, fused where one product can do the work of several."""

    def __init__(self, shape: Architecture, at: str, new: Callable[..., Tensor], targets: dict[str, Tensor]) -> None:
        hidden, ffn, width = shape.hidden_size, shape.ffn_size, shape.head_dim
        heads, kv_heads = shape.num_heads, shape.num_kv_heads
        query, key = heads * width, kv_heads * width
        self.norm = targets[f"{at}.input_layernorm.weight"] = new(hidden)
        self.qkv = new(query + 2 * key, hidden)
        self.qkv_bias = new(query + 2 * key) if shape.has_qkv_bias else None
        for kind, fused in (("weight", self.qkv), ("bias", self.qkv_bias)):
            if fused is not None:
                q, k, v = fused.split((query, key, key))
                targets[f"{at}.self_attn.q_proj.{kind}"] = _halves(q, heads)
                targets[f"{at}.self_attn.k_proj.{kind}"] = _halves(k, kv_heads)
                targets[f"{at}.self_attn.v_proj.{kind}"] = v
        self.q_norm = self.k_norm = None
        if shape.has_qk_norm:
            self.q_norm, self.k_norm = new(width), new(width)
            targets[f"{at}.self_attn.q_norm.weight"] = _halves(self.q_norm, 1)
            targets[f"{at}.self_attn.k_norm.weight"] = _halves(self.k_norm, 1)
        self.out = targets[f"{at}.self_attn.o_proj.weight"] = new(hidden, query)
        self.out_bias = None
        if shape.has_output_bias:
            self.out_bias = targets[f"{at}.self_attn.o_proj.bias"] = new(hidden)
        self.ffn_norm = targets[f"{at}.post_attention_layernorm.weight"] = new(hidden)
        self.gate_up = new(2 * ffn, hidden)
        self.down = targets[f"{at}.mlp.down_proj.weight"] = new(hidden, ffn)
        self.gate_up_bias = self.down_bias = None
        if shape.has_ffn_bias:
            self.gate_up_bias = new(2 * ffn)
            self.down_bias = targets[f"{at}.mlp.down_proj.bias"] = new(hidden)
        for kind, fused in (("weight", self.gate_up), ("bias", self.gate_up_bias)):
            if fused is not None:
                targets[f"{at}.mlp.gate_proj.{kind}"], targets[f"{at}.mlp.up_proj.{kind}"] = fused.split(ffn)


class Weights:
    """All weights of one version, and where each Hugging Face tensor lies in them."""

    def __init__(self, shape: Architecture, device: torch.device | str, dtype: torch.dtype) -> None:
        def new(*size: int) -> Tensor:
            return torch.zeros(size, device=device, dtype=dtype)

        self.targets: dict[str, Tensor] = {}
        self.embedding = self.targets["model.embed_tokens.weight"] = new(shape.vocab_size, shape.hidden_size)
        self.layers = [Layer(shape, f"model.layers.{i}", new, self.targets) for i in range(shape.num_layers)]
        self.norm = self.targets["model.norm.weight"] = new(shape.hidden_size)
        self.head = self.embedding
        if not shape.is_tied:
            self.head = self.targets["lm_head.weight"] = new(shape.vocab_size, shape.hidden_size)

    def put(self, name: str, value: Tensor) -> None:
        """Copy one Hugging Face tensor to its place; it has the shape that `Architecture.tensors` says."""
        target = self.targets[name]
        target.copy_(value.view(target.shape), non_blocking=True)

    def get(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Return one tensor as Hugging Face has it, contiguous."""
        return self.targets[name].reshape(shape).contiguous()


class Model:
    """A policy with its current weights.

    Args:
        shape: What the policy is.
        device: Such as `cpu` or `cuda:0`.
        dtype: Of weights and activations; float32 on a CPU, where bfloat16 is many times slower.
        max_context: Positions to prepare for; at most those of the policy.
    """

    def __init__(
        self,
        shape: Architecture,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        max_context: int | None = None,
    ) -> None:
        self.shape = shape
        self.device = torch.device(device)
        self.dtype = dtype
        self.max_context = min(max_context or shape.max_context, shape.max_context)
        self.weights = Weights(shape, self.device, dtype)
        # In float32 from the first step on, as transformers computes them, so that log-probs agree to rounding.
        exponents = torch.arange(0, shape.head_dim, 2, dtype=torch.int64).float() / shape.head_dim
        angles = torch.outer(torch.arange(self.max_context).float(), 1.0 / shape.rope_theta**exponents)
        self._turns_T1D = torch.complex(angles.cos(), angles.sin()).unsqueeze(1).to(self.device)

    @classmethod
    def load(
        cls,
        folder: Path,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        max_context: int | None = None,
    ) -> "Model":
        """Read a Hugging Face folder: `config.json` and its safetensors.

        Raises:
            ConfigError: the folder is not a policy this project can run, or lacks a tensor.
        """
        model = cls(Architecture.read(folder), device, dtype, max_context)
        model.put(read_tensors(Path(folder)), model.weights, at=folder)
        return model

    def put(self, state: Iterable[tuple[str, Tensor]], weights: Weights, at: object = None) -> None:
        """Copy a whole state, under its Hugging Face names, into `weights`.

        Raises:
            ConfigError: a tensor is missing or has another shape. `weights` may then hold a part of it.
        """
        wanted = self.shape.tensors()
        for name, value in state:
            if name == "lm_head.weight" and self.shape.is_tied:
                continue
            if (expected := wanted.pop(name, None)) is None:
                raise ConfigError("a policy's tensors must be those of its config.json", got=name, at=at)
            if tuple(value.shape) != expected:
                raise ConfigError(f"{name} must have shape {expected}", got=tuple(value.shape), at=at)
            weights.put(name, value)
        if wanted:
            raise ConfigError("a policy must have all its tensors", got=f"no {', '.join(sorted(wanted))}", at=at)

    def hidden(self, ids_N: Tensor, positions_N: Tensor, attend: Attend, kept: Tensor | None = None) -> Tensor:
        """Return the last hidden state of every token, after the final norm; shape (N, H).

        With `kept`, indices into N, only of those tokens: all but their keys and values is left out of the last block.
        """
        shape, weights = self.shape, self.weights
        heads, kv_heads, width, eps = shape.num_heads, shape.num_kv_heads, shape.head_dim, shape.norm_eps
        turned = heads + kv_heads
        x_NH = functional.embedding(ids_N, weights.embedding)
        turns_N1D = self._turns_T1D[positions_N]
        for index, layer in enumerate(weights.layers):
            qkv = functional.linear(_norm(x_NH, layer.norm, eps), layer.qkv, layer.qkv_bias)
            qkv = qkv.view(-1, turned + kv_heads, width)
            qk, v_NKD = qkv[:, :turned], qkv[:, turned:]
            if layer.q_norm is not None and layer.k_norm is not None:
                q, k = qk[:, :heads], qk[:, heads:]
                qk = torch.cat((_norm(q, layer.q_norm, eps), _norm(k, layer.k_norm, eps)), 1)
            pairs = torch.view_as_complex(qk.float().unflatten(-1, (-1, 2)))
            qk = torch.view_as_real(pairs * turns_N1D).flatten(-2).to(self.dtype)
            context = attend(index, qk[:, :heads], qk[:, heads:], v_NKD).reshape(-1, heads * width)
            if kept is not None and layer is weights.layers[-1]:
                x_NH, context = x_NH[kept], context[kept]
            x_NH = _add_linear(x_NH, context, layer.out, layer.out_bias)
            gate_up = functional.linear(_norm(x_NH, layer.ffn_norm, eps), layer.gate_up, layer.gate_up_bias)
            gate, up = gate_up.chunk(2, -1)
            x_NH = _add_linear(x_NH, functional.silu(gate).mul_(up), layer.down, layer.down_bias)
        return _norm(x_NH, weights.norm, eps)

    def logits(self, hidden_NH: Tensor) -> Tensor:
        """Return the scores of every token of the vocabulary, float32; shape (N, V)."""
        return functional.linear(hidden_NH, self.weights.head).float()

    def sequence_logprobs(self, ids_BT: Tensor, chunk_tokens: int = 4096) -> Tensor:
        """Return the log-prob of each token after the first; float32, shape (B, T - 1).

        Rows are padded on the right with any token: what comes later changes nothing before it.
        """
        rows, length = ids_BT.shape
        positions_N = torch.arange(length, device=self.device).repeat(rows)
        is_grouped = self.shape.num_heads != self.shape.num_kv_heads

        def attend(_: int, q_NAD: Tensor, k_NKD: Tensor, v_NKD: Tensor) -> Tensor:
            q, k, v = (x.unflatten(0, (rows, length)).transpose(1, 2) for x in (q_NAD, k_NKD, v_NKD))
            context = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=is_grouped)
            return context.transpose(1, 2).flatten(0, 1)

        hidden_NH = self.hidden(ids_BT.reshape(-1), positions_N, attend)
        hidden_NH = hidden_NH.view(rows, length, -1)[:, :-1].flatten(0, 1)
        targets_N = ids_BT[:, 1:].reshape(-1, 1)
        found = [
            torch.log_softmax(self.logits(hidden), -1).gather(1, target)
            for hidden, target in zip(hidden_NH.split(chunk_tokens), targets_N.split(chunk_tokens), strict=True)
        ]
        return torch.cat(found).view(rows, length - 1)


def read_tensors(folder: Path) -> Iterable[tuple[str, Tensor]]:
    """Yield name and tensor of every weights file of a folder; a checkpoint's optimizer state is none.

    Raises:
        ConfigError: there is none, or one is broken.
    """
    from safetensors import SafetensorError, safe_open

    paths = sorted(folder.glob("model*.safetensors"))
    if not paths:
        raise ConfigError("a policy folder must have model*.safetensors", at=folder)
    for path in paths:
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118 (no mapping)
                    yield name, file.get_tensor(name)
        except SafetensorError as error:
            raise ConfigError("safetensors must be whole", got=error, at=path) from None


def state_of(weights: Weights, shape: Architecture) -> Mapping[str, Tensor]:
    """Return all weights under their Hugging Face names, float32 on the CPU."""
    return {name: weights.get(name, size).float().cpu() for name, size in shape.tensors().items()}


def _halves(fused: Tensor, heads: int) -> Tensor:
    # From pair order as stored, (heads, D/2, 2, ...), to halves as Hugging Face has them, (heads, 2, D/2, ...): a view.
    return fused.unflatten(0, (heads, -1, 2)).transpose(1, 2)


def _norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return functional.rms_norm(x, weight.shape, weight, eps)


def _add_linear(residual: Tensor, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if bias is not None:
        residual = residual + bias
    return torch.addmm(residual, x, weight.t())
