"""The trainer keeps the contract of trainers, and makes the steps that Megatron makes."""

from pathlib import Path

import pytest
from assay_example_trainer import TORCH
from assay_example_trainer.trainer import TorchTrainer

from assay.core.trainer import UpdateSettings
from assay.runtime.testing.policy import small_policy
from assay.runtime.testing.trainer import sequences
from assay.runtime.trainer.megatron import MegatronTrainer
from assay.testing import TrainerContract

TestTorch = TrainerContract.of(TORCH)


def test_steps_are_those_of_megatron(tmp_path: Path) -> None:
    policy = small_policy(tmp_path)
    found = []
    for trainer in (TorchTrainer(policy), MegatronTrainer(policy)):
        sft = trainer.update(sequences("sft"), UpdateSettings("sft", lr=1e-3, weight_decay=0.1))
        rl = [
            trainer.update(sequences("policy", seed), UpdateSettings("policy", lr=1e-3, max_grad_norm=0.5))
            for seed in range(3)
        ]
        found.append([(one.loss, one.grad_norm, one.num_tokens, one.metrics["entropy"]) for one in (sft, *rl)])
        trainer.close()
    for mine, theirs in zip(*found, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-4)
