"""`human.mark(question, low=0, high=1, patience="24h")`: a person says.

The call is put as a question into the queue of the run; `assay review` answers it. Nothing is scored meanwhile, and
after `patience` the episode is unscored, never 0. With 0 and 1 the question is a yes or no; otherwise the answer is a
number on the scale, and its signal is where it lies between the ends.
"""

from typing import Annotated

from assay.core.error import VerifierFault
from assay.core.leaf import verifier
from assay.core.signal import Signals, signal


class Mark(Signals, frozen=True):
    """What a person said."""

    mark: Annotated[float, signal(ge=0, le=1, better="up", doc="The answer, from 0 at `low` to 1 at `high`.")]


@verifier("human.mark", version=1, tier="human", cost="5min", deterministic=False, timeout="168h")
def human_mark(question: str, low: float = 0, high: float = 1, patience: str = "24h") -> Mark:
    """Ask a person; answered with `assay review`."""
    raise VerifierFault("a question to a person must be answered by one", got="a call", at="human.mark")
