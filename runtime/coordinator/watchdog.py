"""The watchdog: one look per edge at whether work there moves; an edge that does not ends the run and says why.

An edge with nothing to do is not stuck. Waiting for something that another edge must bring counts against that one.
People are no edge: what they are asked may wait for hours.
"""

from assay.runtime.coordinator import curriculum, feed
from assay.runtime.coordinator.patience import is_patient
from assay.runtime.coordinator.spec import EntrySpec, StageSpec
from assay.runtime.coordinator.state import Run


class Watchdog:
    """Remembers when each edge last moved.

    Args:
        limit_s: Longest an edge with work may stand still.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._since: dict[str, float] = {}

    def progress(self, edge: str, now_s: float) -> None:
        """Something came over an edge."""
        self._since[edge] = now_s

    def shift(self, by_s: float) -> None:
        """Forgive a stall of the loop itself."""
        for edge in self._since:
            self._since[edge] += by_s

    def stuck(self, run: Run, is_taking: bool) -> str | None:
        """Return a sentence about the first edge that stands still for too long; None while all is well."""
        for edge, (is_busy, why) in _edges(run, is_taking).items():
            if not is_busy:
                self._since.pop(edge, None)
                continue
            limit_s = max(self._limit_s, _patience(run, edge))
            if run.now_s - self._since.setdefault(edge, run.now_s) > limit_s:
                return f"edge {edge} has made no progress for {limit_s:.0f} s: {why}"
        return None


def _edges(run: Run, is_taking: bool) -> dict[str, tuple[bool, str]]:
    """Return, per edge in the order of the flow, whether it has work and what stands there."""
    roles = {
        role: sum(worker.role == role for worker in run.workers.values()) for role in ("source", "rollout", "verify")
    }
    has_trainer = any(worker.role == "update" for worker in run.workers.values())
    at = run.curriculum
    missing = [source for source in run.feeds.values() if feed.is_waiting(source)]
    rolling = sum(run.running["rollout"].values())
    verifying = sum(number for name, number in run.running["verify"].items() if not is_patient(run.entries[name]))
    ready = sum(group.state == "ready" for group in run.groups.values())
    stage = curriculum.phase(run)
    has_stage = isinstance(stage, StageSpec)
    return {
        "source": (
            bool(missing)
            or any(evaluation.todo and any(evaluation.todo.values()) for evaluation in run.evaluations.values()),
            f"{len(missing)} feeds wait for tasks, {roles['source']} source workers",
        ),
        "rollout": (
            bool(run.rollout_queue or rolling) and at.visible is not None,
            f"{len(run.rollout_queue)} episodes wait, {rolling} are playing, {roles['rollout']} rollout workers",
        ),
        "verify": (
            bool(run.verify_queue or verifying),
            f"{len(run.verify_queue)} episodes wait, {verifying} are being verified, {roles['verify']} verify workers",
        ),
        "group -> update": (
            has_stage and is_taking and at.trainer_step == at.frontier,
            f"the trainer waits for step {at.frontier + 1}, {ready} groups are ready; dropped: {run.counts.dropped}",
        ),
        "update": (
            has_stage and not is_taking,
            f"step {at.trainer_step} is the last committed of {at.frontier}, {'a' if has_trainer else 'no'} trainer",
        ),
    }


def _patience(run: Run, edge: str) -> float:
    """A single item may take as long as its tier allows."""
    if edge == "rollout":
        return 2.0 * max(entry.max_rollout_s for entry in run.entries.values())
    if edge == "verify":
        return 2.0 * max(entry.max_verify_s for entry in _quick(run))
    if edge == "group -> update":
        return 2.0 * max(entry.max_rollout_s + entry.max_verify_s for entry in _quick(run))
    return 0.0


def _quick(run: Run) -> list[EntrySpec]:
    """Return the entries that are played now and wait for no person; where all do, those."""
    played = [entry for entry in run.entries.values() if run.target.get(entry.name, 1.0) > 0.0]
    return [entry for entry in played if not is_patient(entry)] or played
