"""A vote in which a sample weighs exp(mean_logprob / weight_temperature).

Source: self-consistency, arXiv:2203.11171, table 1, the normalized weighted sum; the temperature is ours.
"""

import math
import random
from collections.abc import Sequence

from assay.core.error import ConfigError
from assay.core.strategy import Sample


class ConfidentVote:
    """See the module.

    Args:
        weight_temperature: Above 0; smaller makes certainty count for more.

    Raises:
        ConfigError: a temperature that is none.
    """

    def __init__(self, weight_temperature: float = 1.0) -> None:
        if not weight_temperature > 0.0:
            raise ConfigError("weight_temperature must be above 0", got=weight_temperature)
        self.weight_temperature = weight_temperature

    def pick(self, samples: Sequence[Sample], rng: random.Random) -> int:
        """Return the first sample of the answer with most weight; one that did not parse has none."""
        weights: dict[str, float] = {}
        # Relative to the most certain one, so that no weight vanishes.
        best = max(sample.mean_logprob for sample in samples)
        for sample in samples:
            if sample.answer is not None:
                weight = math.exp((sample.mean_logprob - best) / self.weight_temperature)
                weights[sample.answer] = weights.get(sample.answer, 0.0) + weight
        if not weights:
            return rng.randrange(len(samples))
        most = max(weights.values())
        winner = rng.choice(sorted(answer for answer, weight in weights.items() if weight == most))
        return next(index for index, sample in enumerate(samples) if sample.answer == winner)
