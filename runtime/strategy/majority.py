"""The answer that most samples gave.

Answers are compared as text: trimmed, and with one space for each run of white space. A sample whose answer does not
parse has no vote. Between answers with as many votes chance decides, by the seed.

Source: self-consistency, arXiv:2203.11171, section 2, the unweighted sum.
"""

import random
from collections import Counter
from collections.abc import Sequence

from assay.core.strategy import Sample


class Majority:
    """See the module."""

    def pick(self, samples: Sequence[Sample], rng: random.Random) -> int:
        """See `assay.core.strategy.Strategy`; of the samples with the winning answer the first."""
        answers = [None if sample.answer is None else canonical(sample.answer) for sample in samples]
        votes = Counter(answer for answer in answers if answer is not None)
        if not votes:
            return rng.randrange(len(samples))
        most = max(votes.values())
        # Sorted, so that the order of the samples decides nothing.
        return answers.index(rng.choice(sorted(answer for answer, number in votes.items() if number == most)))


def canonical(answer: str) -> str:
    """Return an answer as it is compared.

    Example:
        >>> canonical(" two   words\\n")
        'two words'
    """
    return " ".join(answer.split())
