"""Small policies and sequences for the trainer's tests."""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.core.array import Array
from assay.core.trainer import TrainSequence

# Test processes run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")

VOCAB = 20


@pytest.fixture(scope="session")
def make_policy(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make Hugging Face folders with small random weights."""

    def make(family: str = "llama", **fields: Any) -> Path:
        import torch
        import transformers

        shape = {
            "vocab_size": VOCAB,
            "hidden_size": 16,
            "intermediate_size": 24,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 4,
            "max_position_embeddings": 32,
            "tie_word_embeddings": family != "qwen3",
            "rope_parameters": {"rope_type": "default", "rope_theta": 10.0},
        }
        name = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}[family]
        config = getattr(transformers, f"{name}Config")(**{**shape, **fields})
        torch.manual_seed(0)
        model = getattr(transformers, f"{name}ForCausalLM")(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
        folder = tmp_path_factory.mktemp(family)
        model.save_pretrained(folder)
        (folder / "tokenizer.json").write_text("{}")
        return folder

    return make


@pytest.fixture(scope="session")
def policy(make_policy: Callable[..., Path]) -> Path:
    """A Llama-style folder."""
    return make_policy()


@pytest.fixture
def make_trainer() -> Iterator[Callable[..., Any]]:
    """Make trainers of one rank; a process holds one at a time, so an older one is closed first."""
    open_trainers: list[Any] = []

    def make(folder: Path, **options: Any) -> Any:
        from assay.runtime.trainer.megatron import MegatronTrainer

        while open_trainers:
            open_trainers.pop().close()
        open_trainers.append(MegatronTrainer(folder, **options))
        return open_trainers[-1]

    yield make
    while open_trainers:
        open_trainers.pop().close()


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., list[TrainSequence]]:
    """Make random training sequences of several lengths."""

    def make(seed: int = 0, number: int = 12, is_policy: bool = False, **fields: Any) -> list[TrainSequence]:
        rng = random.Random(seed)
        sequences = []
        for episode in range(number):
            length = rng.randint(5, 14)
            num_trained = rng.randint(1, 4)
            mask = [0] * (length - num_trained) + [1] * num_trained
            advantage = rng.gauss(0.0, 1.0) if is_policy else 1.0
            sequences.append(
                TrainSequence(
                    tokens=Array.of([rng.randrange(VOCAB) for _ in range(length)], "int32"),
                    loss_mask=Array.of(mask, "uint8"),
                    behavior_logprobs=Array.of([rng.uniform(-4.0, -2.0) * is_policy * m for m in mask], "float32"),
                    advantages=Array.of([advantage * m for m in mask], "float32"),
                    domain="demo",
                    episode=episode,
                    **fields,
                )
            )
        return sequences

    return make
