import math
from typing import Any

import pytest
import torch
from torch import Tensor

from assay.runtime.trainer.batch import MicroBatch
from assay.runtime.trainer.loss import MAXIMA, MEANS, POLICY_OPTIONS, LossSums, policy_loss, sft_loss, token_logprobs


def reference(policy: Tensor, batch: MicroBatch, options: dict[str, float]) -> float:
    """The policy loss as one reads it in the papers: float64, one token at a time."""
    total, count = 0.0, 0
    for row in range(policy.shape[0]):
        tokens = [t for t in range(policy.shape[1]) if batch.loss_mask_BT[row, t] == 1]
        weight = 1.0 / len(tokens) if options["per_sequence"] and tokens else 1.0
        count += (1 if tokens else 0) if options["per_sequence"] else len(tokens)
        for t in tokens:
            ratio = math.exp(float(policy[row, t]) - float(batch.behavior_logprobs_BT[row, t]))
            clipped = min(max(ratio, 1.0 - options["clip_low"]), 1.0 + options["clip_high"])
            advantage = float(batch.advantages_BT[row, t])
            loss = -min(ratio * advantage, clipped * advantage)
            if options["kl_coefficient"] and batch.ref_logprobs_BT is not None:
                log_ratio = float(batch.ref_logprobs_BT[row, t]) - float(policy[row, t])
                loss += options["kl_coefficient"] * (math.exp(log_ratio) - log_ratio - 1.0)
            total += weight * loss
    return total / count


def random_batch(seed: int, has_ref: bool = True, dtype: torch.dtype = torch.float64) -> tuple[Tensor, MicroBatch]:
    """Logits and a batch whose log-probs differ by about as much as a few updates make them differ."""
    generator = torch.Generator().manual_seed(seed)
    shape = (4, 6)

    def normal(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator, dtype=dtype)

    logits = normal(*shape, 5)
    labels = torch.randint(5, shape, generator=generator)
    logprobs, _ = token_logprobs(logits, labels)
    mask = (torch.rand(shape, generator=generator) < 0.6).to(dtype)
    mask[3] = 0.0
    return logits, MicroBatch(
        tokens_BT=labels,
        labels_BT=labels,
        loss_mask_BT=mask,
        behavior_logprobs_BT=(logprobs + 0.3 * normal(*shape)) * mask,
        advantages_BT=normal(*shape) * mask,
        current_BT=torch.zeros(shape, dtype=dtype),
        ref_logprobs_BT=(logprobs + 0.3 * normal(*shape)) * mask if has_ref else None,
        trained_N=mask.t().flatten().nonzero()[:, 0],
    )


def loss_of(logits: Tensor, batch: MicroBatch, options: dict[str, float]) -> Tensor:
    sums = policy_loss(*token_logprobs(logits, batch.labels_BT), batch, options)
    return sums.objective / sums.denominator


OPTIONS: list[dict[str, float]] = [
    {},
    {"clip_low": 0.1, "clip_high": 0.4},
    {"kl_coefficient": 0.5},
    {"per_sequence": 1.0},
    {"per_sequence": 1.0, "kl_coefficient": 0.1, "clip_high": 0.28},
]


@pytest.mark.parametrize("given", OPTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_policy_loss_equals_the_reference(given: dict[str, float], seed: int) -> None:
    logits, batch = random_batch(seed)
    options = {**POLICY_OPTIONS, **given}
    logprobs, _ = token_logprobs(logits, batch.labels_BT)
    assert reference(logprobs, batch, options) == pytest.approx(float(loss_of(logits, batch, options)), rel=1e-12)


@pytest.mark.parametrize("given", OPTIONS)
def test_gradient_equals_finite_differences(given: dict[str, float]) -> None:
    logits, batch = random_batch(7)
    options = {**POLICY_OPTIONS, **given}
    assert torch.autograd.gradcheck(lambda x: loss_of(x, batch, options), logits.requires_grad_(), eps=1e-7, atol=1e-6)


def test_float32_agrees_with_float64() -> None:
    options = dict(POLICY_OPTIONS)
    logits, batch = random_batch(1)
    values: Any = [x.float() if x is not None and x.is_floating_point() else x for x in batch]
    single = MicroBatch(*values)
    assert float(loss_of(logits, batch, options)) == pytest.approx(
        float(loss_of(logits.float(), single, options)), rel=1e-5
    )


def test_ratio_outside_the_clip_gives_no_gradient() -> None:
    logits, batch = random_batch(2, has_ref=False)
    logits.requires_grad_()
    logprobs, entropy = token_logprobs(logits, batch.labels_BT)
    # Every ratio is far above the clip, and every advantage asks for more.
    far = batch._replace(
        behavior_logprobs_BT=(logprobs.detach() - 2.0) * batch.loss_mask_BT,
        advantages_BT=batch.loss_mask_BT,
    )
    sums = policy_loss(logprobs, entropy, far, POLICY_OPTIONS)
    sums.objective.backward()
    assert logits.grad is not None
    assert 0.0 == float(logits.grad.abs().max())
    assert 1.0 == means(sums, far)["clipped"]


def test_token_outside_the_mask_changes_nothing() -> None:
    logits, batch = random_batch(3)
    logprobs, entropy = token_logprobs(logits, batch.labels_BT)
    noise = (1.0 - batch.loss_mask_BT) * 50.0
    noisy = batch._replace(
        behavior_logprobs_BT=batch.behavior_logprobs_BT + noise,
        advantages_BT=batch.advantages_BT + noise,
        current_BT=noise.clamp(max=1.0),
    )
    for plain, other in zip(
        policy_loss(logprobs, entropy, batch, POLICY_OPTIONS),
        policy_loss(logprobs + noise, entropy + noise, noisy, POLICY_OPTIONS),
        strict=True,
    ):
        assert torch.equal(plain, other)
    for plain, other in zip(
        sft_loss(logprobs, entropy, batch), sft_loss(logprobs + noise, entropy + noise, noisy), strict=True
    ):
        assert torch.equal(plain, other)


def test_sft_loss_is_the_cross_entropy_of_trained_tokens() -> None:
    logits, batch = random_batch(4)
    sums = sft_loss(*token_logprobs(logits, batch.labels_BT), batch)
    is_trained = batch.loss_mask_BT == 1
    expected = torch.nn.functional.cross_entropy(logits[is_trained], batch.labels_BT[is_trained])
    assert float(expected) == pytest.approx(float(sums.objective / sums.denominator), rel=1e-12)


def test_metrics_state_what_they_are_called() -> None:
    logits, batch = random_batch(5, has_ref=False)
    logprobs, entropy = token_logprobs(logits, batch.labels_BT)
    is_trained = batch.loss_mask_BT == 1
    batch = batch._replace(current_BT=batch.loss_mask_BT)
    log_ratio = (logprobs - batch.behavior_logprobs_BT)[is_trained]
    probs = logits.softmax(-1)
    sums = policy_loss(logprobs, entropy, batch, POLICY_OPTIONS)
    found = means(sums, batch)
    assert float(log_ratio.exp().mean()) == pytest.approx(found["importance_ratio"])
    assert float((log_ratio.exp() - 1 - log_ratio).mean()) == pytest.approx(found["approx_kl"])
    assert float(log_ratio.abs().mean()) == pytest.approx(found["logprob_gap"])
    assert float(-(probs * probs.log()).sum(-1)[is_trained].mean()) == pytest.approx(found["entropy"])
    maxima = dict(zip(MAXIMA, sums.maxima.tolist(), strict=True))
    assert {
        "importance_ratio_max": pytest.approx(float(log_ratio.exp().max())),
        "logprob_gap_max": pytest.approx(float(log_ratio.abs().max())),
    } == maxima


def means(sums: LossSums, batch: MicroBatch) -> dict[str, Any]:
    return dict(zip(MEANS, (sums.sums / batch.loss_mask_BT.sum()).tolist(), strict=True))
