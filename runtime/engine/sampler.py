"""From scores to tokens: one vectorised draw for all rows, and one stream of random numbers per request.

The random number of a token is a hash of the request's seed and the token's position, so that it does not matter what
else runs, in which order, or whether the request was run before. The draw inverts the distribution's cumulative sum;
log-probs are those of the distribution the token was drawn from.

Deviation: a greedy row (temperature 0) reports the log-probs of temperature 1, as servers do; those of the point mass
it really draws from would all be 0 and say nothing.

Shape suffixes: B rows, V vocabulary.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def uniforms(seeds_B: NDArray[np.uint64], positions_B: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return one number in (0, 1) per row, a function of seed and position alone.

    Source: the finaliser is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), applied to the seed, then to both.
    """
    mixed_B = _mix(_mix(seeds_B + _STEP) + positions_B.astype(np.uint64) * _STEP)
    return ((mixed_B >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def sample(
    logits_BV: Tensor,
    temperatures_B: NDArray[np.float32],
    top_ps_B: NDArray[np.float32],
    uniforms_B: NDArray[np.float64],
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Draw one token per row.

    Args:
        logits_BV: float32; may be overwritten.
        temperatures_B: 0 is greedy.
        top_ps_B: Nucleus mass in (0, 1].
        uniforms_B: As `uniforms` gives them.

    Returns:
        Tokens, int32, and their log-probs, float32; shape (B,).
    """
    device = logits_BV.device
    is_greedy_B = temperatures_B == 0
    if (temperatures_B[~is_greedy_B] != 1).any():
        scales_B = np.where(is_greedy_B, np.float32(1), temperatures_B)
        logits_BV = logits_BV / torch.from_numpy(scales_B).to(device).unsqueeze(1)
    logprobs_BV = torch.log_softmax(logits_BV, -1)
    if is_greedy_B.all():
        logprobs_B, tokens_B = logprobs_BV.max(-1)
        return tokens_B.cpu().numpy().astype(np.int32), logprobs_B.cpu().numpy()
    is_cut_B = (top_ps_B < 1) & ~is_greedy_B
    if is_cut_B.any():
        logprobs_BV = _nucleus(logprobs_BV, torch.from_numpy(np.where(is_cut_B, top_ps_B, 1)).to(device))
    # float64: with a large vocabulary the rounding of a float32 sum is as large as a rare token.
    sums_BV = logprobs_BV.exp().cumsum(-1, dtype=torch.float64)
    points_B1 = torch.from_numpy(uniforms_B).to(device).unsqueeze(1) * sums_BV[:, -1:]
    tokens_B1 = torch.searchsorted(sums_BV, points_B1, right=True).clamp_(max=logits_BV.shape[1] - 1)
    if is_greedy_B.any():
        is_greedy_B1 = torch.from_numpy(is_greedy_B).to(device).unsqueeze(1)
        tokens_B1 = torch.where(is_greedy_B1, logprobs_BV.argmax(-1, keepdim=True), tokens_B1)
    logprobs_B = logprobs_BV.gather(1, tokens_B1).squeeze(1)
    return tokens_B1.squeeze(1).cpu().numpy().astype(np.int32), logprobs_B.cpu().numpy()


def _nucleus(logprobs_BV: Tensor, top_ps_B: Tensor) -> Tensor:
    # The smallest set of likeliest tokens whose mass reaches top_p: a token stays if the likelier ones do not reach it.
    sorted_BV, order_BV = logprobs_BV.sort(stable=True, dim=-1, descending=True)
    masses_BV = sorted_BV.exp()
    likelier_BV = masses_BV.cumsum(-1, dtype=torch.float64) - masses_BV
    limits_B1 = top_ps_B.double().unsqueeze(1)
    is_out_BV = torch.zeros_like(order_BV, dtype=torch.bool)
    is_out_BV.scatter_(1, order_BV, likelier_BV >= limits_B1)
    kept_BV = logprobs_BV.masked_fill(is_out_BV, -torch.inf)
    return torch.where(limits_B1 < 1, kept_BV - kept_BV.logsumexp(-1, keepdim=True), logprobs_BV)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))
