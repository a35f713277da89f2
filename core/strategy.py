"""Strategies: which of several answers to one task counts, when a policy is evaluated as it would be deployed.

A strategy sees what whoever deploys the policy would have: the answers, what the policy said of them, and signals of
verifiers that need no reference answer. It never sees a reward.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from assay.core.signal import SignalValue


class Sample(msgspec.Struct, frozen=True):
    """One answer to a held-out task.

    Attributes:
        answer: What the domain's parser read, or the final text where it has none; None where the parser refused.
        text: The final text.
        tokens: Tokens sampled.
        mean_logprob: Mean log-probability of these tokens when they were sampled, in nats; 0 where there are none.
        is_truncated: Whether a limit ended it.
        signals: `verifier.signal` -> value, of verifiers that read nothing of the task that its prompt does not show.
    """

    answer: str | None
    text: str
    tokens: int
    mean_logprob: float
    is_truncated: bool = False
    signals: Mapping[str, SignalValue] = {}


class Strategy(Protocol):
    """Picks the answer that counts; what `assay_strategies` makes for an evaluation.

    One with the attribute `signals` chooses by those: names such as `judge.quality`, each of which every domain that is
    evaluated must have, measured by a verifier that needs no reference answer.
    """

    def pick(self, samples: Sequence[Sample], rng: random.Random) -> int:
        """Return the position of the answer that counts.

        Args:
            samples: At least one, in the order they were asked for; those that could not be verified are left out.
            rng: Seeded by run, evaluation and task; the only source of chance.
        """
        ...
