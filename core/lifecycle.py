"""The life of an episode: its states, the legal steps between them and the law that counts them.

    planned -> rolling -> rolled -> verifying -> scored | unscored -> grouped -> batched -> trained

An evaluation ends in `evaluated` instead. Every state that has not ended may fall to `dropped` with a reason.
`rolling -> planned` and `verifying -> rolled` happen when a lease ends without a result; the seed stays. Demonstrations
are not episodes. An end state is never left.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

State = Literal[
    "planned",
    "rolling",
    "rolled",
    "verifying",
    "scored",
    "unscored",
    "grouped",
    "batched",
    "trained",
    "evaluated",
    "dropped",
]

Purpose = Literal["train", "evaluate"]

DropReason = Literal[
    "retries_spent",
    "quarantined",
    "unscored",
    "below_min_scored",
    "not_admitted",
    "stage_over",
    "lost_blob",
    "cancelled",
]

# State -> states it may become. `planned -> rolled` and `rolled -> scored` are late answers of leases that had expired
# and that nobody holds again; `rolled -> planned` plays an episode again whose trajectory the store has lost.
LEGAL: Mapping[State, tuple[State, ...]] = {
    "planned": ("rolling", "rolled", "dropped"),
    "rolling": ("planned", "rolled", "dropped"),
    "rolled": ("planned", "verifying", "scored", "unscored", "dropped"),
    "verifying": ("rolled", "scored", "unscored", "dropped"),
    "scored": ("grouped", "evaluated", "dropped"),
    "unscored": ("evaluated", "dropped"),
    "grouped": ("batched", "dropped"),
    "batched": ("trained",),
    "trained": (),
    "evaluated": (),
    "dropped": (),
}

ENDED: frozenset[State] = frozenset(state for state, following in LEGAL.items() if not following)


class Step(msgspec.Struct, frozen=True, array_like=True):
    """One step in the life of one episode, as it stands in a story.

    Attributes:
        episode: Number in the ledger.
        before: State it left.
        after: State it entered.
        why: One line for people; a `DropReason` where it was dropped.
        at_s: Seconds of the run's clock.
    """

    episode: int
    before: State
    after: State
    why: str
    at_s: float

    def __str__(self) -> str:
        return f"{self.at_s:.3f} s: {self.before} -> {self.after}" + (f" ({self.why})" if self.why else "")


class Counts(msgspec.Struct, array_like=True):
    """What became of all episodes of a run.

    Attributes:
        submitted: Episodes ever planned.
        trained: In a committed batch.
        evaluated: Played for an evaluation, scored or not.
        dropped: By reason.
        in_flight: In no end state.
    """

    submitted: int = 0
    trained: int = 0
    evaluated: int = 0
    dropped: dict[str, int] = {}
    in_flight: int = 0

    @property
    def is_conserved(self) -> bool:
        """Whether submitted = trained + evaluated + dropped + in flight."""
        return self.submitted == self.trained + self.evaluated + sum(self.dropped.values()) + self.in_flight
