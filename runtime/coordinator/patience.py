"""What of the coordinator's rules does not hold for people: a domain of the tier `human` waits for hours.

Waiting must cost the others nothing. So the verification of such a domain takes no slot of its worker; its group takes
a credit when it has been answered, not when it is asked; no batch waits for it; and it is never too stale, since what
people said is not thrown away. How stale its tokens are by then is measured like everybody's.
"""

from assay.runtime.coordinator.spec import EntrySpec
from assay.runtime.coordinator.state import Episode, Run, Worker

TIER = "human"


def is_patient(entry: EntrySpec) -> bool:
    """Whether an entry waits for people."""
    return entry.tier == TIER


def slots(worker: Worker, episode: Episode | None) -> float:
    """Return the slots that a lease takes: none for an episode that a person looks at."""
    is_free = worker.role == "verify" and episode is not None and is_patient(episode.group.entry)
    return 0.0 if is_free else 1.0


def num_asked(run: Run) -> int:
    """Return how many training groups of the present stage wait for people."""
    if not run.tier_inflight.get(TIER):
        return 0
    phase = run.curriculum.phase
    return sum(
        group.state == "open" and group.stage == phase and is_patient(group.entry) for group in run.groups.values()
    )
