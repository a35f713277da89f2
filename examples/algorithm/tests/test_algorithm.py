"""The algorithm keeps the contract of algorithms, and a small policy learns with it."""

import pytest
import torch
from assay_example_algorithm import RLOO
from assay_example_algorithm.rloo import Rloo

from assay.core.error import ConfigError
from assay.runtime.trainer.batch import MicroBatch
from assay.runtime.trainer.loss import POLICY_OPTIONS, policy_loss
from assay.testing import AlgorithmContract

TestRloo = AlgorithmContract.of(
    RLOO,
    cases={
        # 1 - (0 + 0 + 0)/3, and 0 - (1 + 0 + 0)/3 three times.
        (1.0, 0.0, 0.0, 0.0): (1.0, -1 / 3, -1 / 3, -1 / 3),
        # 3 - (1 + 2)/2, 1 - (3 + 2)/2, 2 - (3 + 1)/2.
        (3.0, 1.0, 2.0): (1.5, -1.5, 0.0),
    },
)


def test_a_few_updates_teach_a_small_policy() -> None:
    """Four actions, of which one pays; 40 updates of 4 groups of 8, with the loss of a real run."""
    torch.manual_seed(0)
    algorithm = Rloo()
    logits = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.Adam([logits], lr=0.1)
    for _ in range(40):
        with torch.no_grad():
            logprobs = logits.log_softmax(-1)
            actions = torch.multinomial(logprobs.exp(), 32, replacement=True)
        rewards = (actions == 2).float().reshape(4, 8).tolist()
        advantages = algorithm.advantages([("bandit", group) for group in rewards])
        ones_BT, zeros_BT = torch.ones(32, 1), torch.zeros(32, 1)
        batch = MicroBatch(
            tokens_BT=actions.unsqueeze(1),
            labels_BT=actions.unsqueeze(1),
            loss_mask_BT=ones_BT,
            behavior_logprobs_BT=logprobs[actions].unsqueeze(1),
            advantages_BT=torch.tensor(advantages).reshape(32, 1),
            current_BT=ones_BT,
            ref_logprobs_BT=None,
            trained_N=torch.arange(32),
        )
        policy_BT = logits.log_softmax(-1)[actions].unsqueeze(1)
        loss = policy_loss(policy_BT, zeros_BT, batch, {**POLICY_OPTIONS, **algorithm.loss_options})
        optimizer.zero_grad()
        (loss.objective / loss.denominator).backward()
        optimizer.step()
    assert logits.softmax(-1)[2] > 0.9


def test_a_clip_that_cannot_be_meant_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"clip in \(0, 1\)"):
        Rloo(clip=1.0)
