"""GRPO: a reward counts by how it compares with those of its siblings.

A_i = (r_i - mean(r)) / std, every sampled token of episode i gets A_i, and the loss is the clipped surrogate of
`runtime.trainer.loss.policy_loss`. Groups hold scored siblings only: an unscored one changes no advantage.

Source: GRPO, arXiv:2402.03300, section 4.1; without std: Dr. GRPO, arXiv:2503.20783; the mean of the group with a
std of more than the group: Lite PPO, arXiv:2508.08221.

Deviations:
1. The standard deviation is that of the whole group, divided by n; a group whose rewards are all equal gets zeros
   instead of a division by almost nothing, and the trainer leaves its sequences out of the step.
2. With `scope="domain"` it is that of the centred rewards of all groups of a domain in the batch, those without spread
   among them: sqrt(mean over the domain's siblings of (r - mean of its group)^2). It is never taken across domains,
   whose rewards have scales of their own.
3. The mean is taken over all tokens of the batch unless `denominator="sequence"`.
"""

import math
from collections.abc import Sequence
from typing import Literal

from assay.core.error import ConfigError, GroupError


class Grpo:
    """Group-relative advantages.

    Args:
        clip_low: The importance ratio is clipped at 1 - clip_low.
        clip_high: And at 1 + clip_high.
        kl_coefficient: Weight of the KL divergence from the reference; above 0 only where sequences bring
            `ref_logprobs`.
        denominator: What the loss is a mean over: tokens, or sequences that are each a mean over their tokens.
        normalize: Divide by a standard deviation.
        scope: Whose standard deviation: the group's, or that of all groups of its domain in the batch.

    Raises:
        ConfigError: a value outside its range, or a scope where nothing is normalized.
    """

    name = "grpo"

    def __init__(
        self,
        *,
        clip_low: float = 0.2,
        clip_high: float = 0.2,
        kl_coefficient: float = 0.0,
        denominator: Literal["token", "sequence"] = "token",
        normalize: bool = True,
        scope: Literal["group", "domain"] = "group",
    ) -> None:
        if not (0.0 < clip_low < 1.0 and clip_high > 0.0 and kl_coefficient >= 0.0):
            raise ConfigError(
                "grpo must have 0 < clip_low < 1, clip_high > 0 and kl_coefficient >= 0",
                got=f"{clip_low}, {clip_high}, {kl_coefficient}",
            )
        if denominator not in ("token", "sequence"):
            raise ConfigError("denominator must be token or sequence", got=denominator)
        if scope not in ("group", "domain"):
            raise ConfigError("scope must be group or domain", got=scope)
        if scope == "domain" and not normalize:
            raise ConfigError("advantages must be normalized where they have a scope", got="normalize: false")
        self.normalize = normalize
        self.scope = scope
        self.loss_options = {
            "clip_low": clip_low,
            "clip_high": clip_high,
            "kl_coefficient": kl_coefficient,
            "per_sequence": float(denominator == "sequence"),
        }

    def advantages(self, groups: Sequence[tuple[str, Sequence[float]]]) -> list[list[float]]:
        """Return one advantage per sibling; they sum to 0 in each group up to rounding.

        Args:
            groups: Name of the mix entry and rewards of the scored siblings, per group.

        Raises:
            GroupError: fewer than 2 siblings, or a reward that is not finite.
        """
        if self.scope == "domain":
            return domain_advantages(groups)
        return [group_advantages(rewards, name, self.normalize) for name, rewards in groups]


def domain_advantages(groups: Sequence[tuple[str, Sequence[float]]]) -> list[list[float]]:
    """Center the rewards of each group, and scale those of each domain to standard deviation 1 over its groups.

    Raises:
        GroupError: see `group_advantages`.
    """
    centred = [(name, group_advantages(rewards, name, normalize=False)) for name, rewards in groups]
    values: dict[str, list[float]] = {}
    for name, group in centred:
        values.setdefault(name, []).extend(group)
    deviations = {name: math.sqrt(math.fsum(c * c for c in of) / len(of)) for name, of in values.items()}
    return [[c / deviations[name] if deviations[name] > 0.0 else 0.0 for c in group] for name, group in centred]


def group_advantages(rewards: Sequence[float], at: str, normalize: bool) -> list[float]:
    """Center the rewards of one group, and scale them to standard deviation 1 with `normalize`.

    Raises:
        GroupError: fewer than 2 rewards, or one that is not finite.
    """
    if len(rewards) < 2 or not all(map(math.isfinite, rewards)):
        raise GroupError("a group must have at least 2 finite rewards", got=list(rewards), at=at)
    if min(rewards) == max(rewards):
        return [0.0] * len(rewards)
    mean = math.fsum(rewards) / len(rewards)
    centred = [reward - mean for reward in rewards]
    if not normalize:
        return centred
    deviation = math.sqrt(math.fsum(c * c for c in centred) / len(centred))
    return [c / deviation for c in centred] if deviation > 0.0 else [0.0] * len(rewards)
