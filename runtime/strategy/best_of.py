"""The sample with the highest score.

The score is one that a deployed system would have: the policy's own mean log-probability, or a signal of a verifier
that needs no reference answer, such as a judge's. That a sample was graded right is no such score.
"""

import math
import random
from collections.abc import Sequence

from assay.core.error import ConfigError
from assay.core.strategy import Sample

MEAN_LOGPROB = "mean_logprob"


class BestOf:
    """See the module.

    Args:
        signal: `mean_logprob`, or `verifier.signal` such as `judge.quality`; more is better.

    Raises:
        ConfigError: the signal is neither.
    """

    def __init__(self, signal: str = MEAN_LOGPROB) -> None:
        if signal != MEAN_LOGPROB and signal.count(".") != 1:
            raise ConfigError(f"best_of must have the signal {MEAN_LOGPROB} or verifier.signal", got=signal)
        self.signal = signal
        self.signals = () if signal == MEAN_LOGPROB else (signal,)

    def pick(self, samples: Sequence[Sample], rng: random.Random) -> int:
        """See `assay.core.strategy.Strategy`; samples without a number come last, chance decides ties."""
        scores = [self._score(sample) for sample in samples]
        best = max(scores)
        return rng.choice([index for index, score in enumerate(scores) if score == best])

    def _score(self, sample: Sample) -> float:
        value = sample.mean_logprob if self.signal == MEAN_LOGPROB else sample.signals.get(self.signal)
        # A value that is no number compares with nothing.
        return float(value) if isinstance(value, bool | int | float) and not math.isnan(value) else -math.inf
