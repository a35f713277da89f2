"""RLOO: A_i = r_i - mean of the other rewards of the group.

Source: Back to Basics, arXiv:2402.14740.

Deviations:
1. The loss is the clipped surrogate instead of plain REINFORCE, since samples may be a few updates old; at ratio 1 the
   gradients are equal.
2. A mean over trained tokens, where the paper treats a whole answer as one action.
3. No KL penalty inside the reward.
"""

import math
from collections.abc import Sequence

from assay.core.error import ConfigError, GroupError


class Rloo:
    """See the module.

    Args:
        clip: The importance ratio is clipped at 1 - clip and 1 + clip; in (0, 1).

    Raises:
        ConfigError: a clip outside its range.
    """

    name = "rloo"

    def __init__(self, *, clip: float = 0.2) -> None:
        if not 0.0 < clip < 1.0:
            raise ConfigError("rloo must have a clip in (0, 1)", got=clip)
        self.loss_options = {"clip_low": clip, "clip_high": clip}

    def advantages(self, groups: Sequence[tuple[str, Sequence[float]]]) -> list[list[float]]:
        """Return r_i - (sum of r - r_i) / (n - 1) for each of the n siblings of each group.

        Raises:
            GroupError: fewer than 2 siblings, or a reward that is not finite.
        """
        return [_advantages(name, rewards) for name, rewards in groups]


def _advantages(name: str, rewards: Sequence[float]) -> list[float]:
    if len(rewards) < 2 or not all(map(math.isfinite, rewards)):
        raise GroupError("a group must have at least 2 finite rewards", got=list(rewards), at=name)
    if min(rewards) == max(rewards):
        return [0.0] * len(rewards)  # exactly: rounding is no signal
    mean = math.fsum(rewards) / len(rewards)
    # The same as the difference to the mean of the others, without adding them up for each.
    return [(reward - mean) * len(rewards) / (len(rewards) - 1) for reward in rewards]
