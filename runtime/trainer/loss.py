"""Losses over tokens: what a trained token costs, and what is worth knowing about it.

A loss returns sums, never means: Megatron divides the summed gradient of all micro-batches and ranks once by the summed
denominator, so that neither micro-batching, padding nor sharding changes the result.

Shapes: B sequences, T positions, V entries of the vocabulary on this rank.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from assay.runtime.trainer.batch import MicroBatch

# Sums over trained tokens, in the order of `LossSums.sums`; means are taken over all ranks.
MEANS = ("loss", "importance_ratio", "clipped", "approx_kl", "entropy", "kl_ref", "logprob_gap", "current")
# Largest values over trained tokens, in the order of `LossSums.maxima`.
MAXIMA = ("importance_ratio_max", "logprob_gap_max")

POLICY_OPTIONS = {"clip_low": 0.2, "clip_high": 0.2, "kl_coefficient": 0.0, "per_sequence": 0.0}


class LossSums(NamedTuple):
    """What one micro-batch contributes.

    Attributes:
        objective: Sum to be differentiated; float32, shape ().
        sums: One per name in `MEANS`; float64, shape (8,).
        maxima: One per name in `MAXIMA`; float64, shape (2,).
        denominator: What `objective` is to be divided by once all are added: tokens or sequences; int32, shape ().
    """

    objective: Tensor
    sums: Tensor
    maxima: Tensor
    denominator: Tensor


def sft_loss(policy_logprobs_BT: Tensor, entropy_BT: Tensor, batch: MicroBatch) -> LossSums:
    """Cross-entropy of the trained tokens: the sum of -log p."""
    loss_BT = -policy_logprobs_BT * batch.loss_mask_BT
    zero = policy_logprobs_BT.new_zeros((), dtype=torch.float64)
    sums = [_total(loss_BT), zero, zero, zero, _total(entropy_BT * batch.loss_mask_BT), zero, zero, zero]
    return LossSums(loss_BT.sum(), torch.stack(sums), torch.stack([zero, zero]), batch.loss_mask_BT.sum().int())


def policy_loss(
    policy_logprobs_BT: Tensor, entropy_BT: Tensor, batch: MicroBatch, options: Mapping[str, float]
) -> LossSums:
    """Clipped surrogate of a policy-gradient step.

    r = exp(policy - behavior); loss = -min(r A, clip(r, 1 - clip_low, 1 + clip_high) A) + kl_coefficient k3, where
    k3 = exp(ref - policy) - (ref - policy) - 1 estimates KL(policy || ref). With `per_sequence` each sequence's tokens
    weigh 1 / (its trained tokens), and the denominator counts sequences instead of tokens.

    Args:
        policy_logprobs_BT: Of the labels under the weights in training; float32, with gradient.
        entropy_BT: Of the next-token distribution; float32, without gradient.
        batch: Labels' mask, behavior log-probs and advantages.
        options: `POLICY_OPTIONS` with the algorithm's values.

    Source: PPO, arXiv:1707.06347, equation 7; GRPO, arXiv:2402.03300, equations 3 and 4; asymmetric clip: DAPO,
    arXiv:2503.14476, section 3.1.
    """
    mask_BT = batch.loss_mask_BT
    # Masked before the exponential, so that nothing outside the mask can overflow.
    log_ratio_BT = (policy_logprobs_BT - batch.behavior_logprobs_BT) * mask_BT
    ratio_BT = log_ratio_BT.exp()
    clipped_BT = ratio_BT.clamp(1.0 - options["clip_low"], 1.0 + options["clip_high"])
    plain_BT, bounded_BT = ratio_BT * batch.advantages_BT, clipped_BT * batch.advantages_BT
    loss_BT = -torch.minimum(plain_BT, bounded_BT)
    kl_ref_BT = torch.zeros_like(mask_BT)
    if options["kl_coefficient"] and batch.ref_logprobs_BT is not None:
        ref_ratio_BT = (batch.ref_logprobs_BT - policy_logprobs_BT) * mask_BT
        kl_ref_BT = ref_ratio_BT.exp() - ref_ratio_BT - 1.0
        loss_BT = loss_BT + options["kl_coefficient"] * kl_ref_BT
    loss_BT = loss_BT * mask_BT
    weighted_BT, denominator = loss_BT, mask_BT.sum()
    if options["per_sequence"]:
        trained_B = mask_BT.sum(dim=1)
        weighted_BT, denominator = loss_BT / trained_B.clamp(min=1.0).unsqueeze(1), (trained_B > 0).sum()

    with torch.no_grad():
        ratio_BT, log_ratio_BT = ratio_BT.detach(), log_ratio_BT.detach()
        gap_BT = log_ratio_BT.abs() * batch.current_BT
        sums = [
            _total(weighted_BT),
            _total(ratio_BT * mask_BT),
            _total((bounded_BT < plain_BT) * mask_BT),
            _total((ratio_BT - 1.0 - log_ratio_BT) * mask_BT),
            _total(entropy_BT * mask_BT),
            _total(kl_ref_BT * mask_BT),
            _total(gap_BT),
            _total(batch.current_BT * mask_BT),
        ]
        maxima = [(ratio_BT * mask_BT).amax().double(), gap_BT.amax().double()]
    return LossSums(weighted_BT.sum(), torch.stack(sums), torch.stack(maxima), denominator.int())


def token_logprobs(logits_BTV: Tensor, labels_BT: Tensor) -> tuple[Tensor, Tensor]:
    """Return log-probs of the labels, and the entropy of each position without gradient.

    Args:
        logits_BTV: Of the whole vocabulary; any float type.
        labels_BT: int64.
    """
    logprobs_BTV = F.log_softmax(_at_least_float32(logits_BTV), dim=-1)
    with torch.no_grad():
        entropy_BT = -(logprobs_BTV.exp() * logprobs_BTV).sum(-1)
    return logprobs_BTV.gather(-1, labels_BT.unsqueeze(-1)).squeeze(-1), entropy_BT


def sharded_token_logprobs(logits_BTV: Tensor, labels_BT: Tensor, group: dist.ProcessGroup) -> tuple[Tensor, Tensor]:
    """Do the same for logits whose vocabulary is divided among the ranks of a tensor-parallel group."""
    from assay.runtime.trainer.mcore import vocab_parallel_cross_entropy

    logits_BTV = _at_least_float32(logits_BTV)
    with torch.no_grad():
        largest_BT = logits_BTV.amax(-1)
        dist.all_reduce(largest_BT, dist.ReduceOp.MAX, group=group)
        shifted_BTV = logits_BTV - largest_BT.unsqueeze(-1)
        exp_BTV = shifted_BTV.exp()
        moments = torch.stack([exp_BTV.sum(-1), (exp_BTV * shifted_BTV).sum(-1)])
        dist.all_reduce(moments, group=group)
        entropy_BT = moments[0].log() - moments[1] / moments[0]
    # It works in place on what it is given.
    return -vocab_parallel_cross_entropy(logits_BTV.clone(), labels_BT), entropy_BT


def _at_least_float32(logits: Tensor) -> Tensor:
    return logits.float() if logits.dtype.itemsize < 4 else logits


def _total(values_BT: Tensor) -> Tensor:
    return values_BT.detach().sum(dtype=torch.float64)
