"""Policies and a way to run requests to their end."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from assay.core.array import Array
from assay.core.engine import Completion, Engine, GenerateRequest, Sampling
from assay.runtime.policy.architecture import Architecture

# Two threads on shared cores wait for each other more than they compute.
torch.set_num_threads(1)

VOCAB = 61
SHAPES = {
    "llama": Architecture(
        family="llama", vocab_size=VOCAB, hidden_size=32, ffn_size=48, num_layers=2, num_heads=4, num_kv_heads=4,
        head_dim=8, is_tied=True, max_context=96,
    ),
    "qwen3": Architecture(
        family="qwen3", vocab_size=VOCAB, hidden_size=32, ffn_size=48, num_layers=2, num_heads=4, num_kv_heads=2,
        head_dim=16, has_qk_norm=True, rope_theta=50.0, max_context=96,
    ),
}  # fmt: skip


def random_state(shape: Architecture, seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    state = {name: torch.randn(size, generator=generator) * 0.25 for name, size in shape.tensors().items()}
    return {name: value + 1 if "norm" in name else value for name, value in state.items()}


@pytest.fixture(scope="session", params=["llama", "qwen3"])
def policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random policy, with one key head per query head and with shared ones."""
    folder = tmp_path_factory.mktemp(request.param)
    shape = SHAPES[request.param]
    (folder / "config.json").write_text(json.dumps(shape.to_config()))
    save_file(random_state(shape, seed=1), folder / "model.safetensors", {"format": "pt"})
    return folder


@pytest.fixture(scope="session")
def new_state() -> Callable[[Path, int], dict[str, torch.Tensor]]:
    """Other weights for a policy."""
    return lambda folder, seed: random_state(Architecture.read(folder), seed)


def ask(request_id: int, prompt: Sequence[int], max_tokens: int = 8, **sampling: object) -> GenerateRequest:
    """Return a request whose seed is its id."""
    chosen = Sampling(max_tokens, **{"seed": request_id, **sampling})  # type: ignore[arg-type]
    return GenerateRequest(request_id, Array.of(prompt, "int32"), chosen)


def drain(engine: Engine, requests: Iterable[GenerateRequest] = ()) -> dict[int, Completion]:
    """Submit, poll until nothing is in flight, return completions by id."""
    for request in requests:
        engine.submit(request)
    found: dict[int, Completion] = {}
    while engine.num_active:
        found |= {completion.request_id: completion for completion in engine.poll()}
    return found


@pytest.fixture(scope="session")
def ask_for() -> Callable[..., GenerateRequest]:
    """`ask`."""
    return ask


@pytest.fixture(scope="session")
def run() -> Callable[..., dict[int, Completion]]:
    """`drain`."""
    return drain
