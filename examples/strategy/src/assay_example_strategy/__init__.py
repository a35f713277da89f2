"""An Assay test-time strategy: a vote weighted by how certain the policy was."""

from collections.abc import Sequence

import assay
from assay.core.leaf import Factory
from assay_example_strategy.vote import ConfidentVote

CONFIDENT_VOTE = Factory("confident_vote", ConfidentVote, "A vote in which certain samples weigh more.")


@assay.hookimpl
def assay_strategies() -> Sequence[Factory]:
    """Offer `confident_vote`."""
    return (CONFIDENT_VOTE,)
