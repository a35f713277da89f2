"""Policies small enough to make in a test."""

from pathlib import Path

import pytest
import torch

from assay.runtime.policy.initialization import PolicySpec, initialize

# Two threads on shared cores wait for each other more than they compute.
torch.set_num_threads(1)

SPEC = PolicySpec(
    words=("spell", "sort", "up", "down"),
    characters="abcdefghijklmnopqrstuvwxyz0123456789",
    hidden=32,
    heads=4,
    kv_heads=2,
    ffn=48,
    max_positions=64,
    seed=3,
)


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a fresh policy."""
    folder = tmp_path_factory.mktemp("policy")
    initialize(folder, SPEC)
    return folder
