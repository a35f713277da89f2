"""Everything that must hold after every event; slow and thorough, for tests and `validate=True`."""

from collections import Counter

from assay.core.lifecycle import ENDED, LEGAL
from assay.runtime.coordinator.lease import slots
from assay.runtime.coordinator.state import Run
from assay.runtime.coordinator.transition import _OPEN


def check(run: Run) -> None:
    """Check the run.

    Raises:
        AssertionError: an invariant is broken; the text names it.
    """
    _check_counts(run)
    _check_queues(run)
    _check_leases(run)
    _check_groups(run)
    _check_batches(run)


def _check_counts(run: Run) -> None:
    counts = run.counts
    assert counts.is_conserved, f"submitted must equal trained + evaluated + dropped + in flight, got {counts}"
    assert counts.in_flight == len(run.episodes), f"{counts.in_flight} in flight, {len(run.episodes)} in memory"
    assert counts.submitted == run.next_episode, "every number must be submitted once"
    for episode in run.episodes.values():
        assert episode.state not in ENDED, f"episode {episode.number} has ended and is in memory"
        path = [before for before, *_ in episode.story] + [episode.state]
        assert path[0] == "planned" or not episode.story or path[0] in LEGAL
        for before, after, *_ in episode.story:
            assert after in LEGAL[before], f"episode {episode.number} went from {before} to {after}"


def _check_queues(run: Run) -> None:
    planned = {episode.number for episode in run.episodes.values() if episode.state == "planned"}
    rolled = {episode.number for episode in run.episodes.values() if episode.state == "rolled"}
    assert planned == set(run.rollout_queue), f"planned but not waiting: {planned ^ set(run.rollout_queue)}"
    assert rolled == set(run.verify_queue), f"rolled but not waiting: {rolled ^ set(run.verify_queue)}"


def _check_leases(run: Run) -> None:
    for worker in run.workers.values():
        taken = sum(slots(run.leases[number]) for number in worker.leases)
        assert worker.free["slots"] == worker.capacity["slots"] - taken, f"slots of {worker.name}"
        for number in worker.leases:
            assert run.leases[number].worker is worker, f"lease {number} is another worker's"
    for lease in run.leases.values():
        assert run.workers.get(lease.worker.peer) is lease.worker, f"lease {lease.number} refers to a dead worker"
        assert lease.number in lease.worker.leases
        if lease.episode is not None:
            assert lease.episode.lease is lease, f"episode {lease.episode.number} holds another lease"
    for episode in run.episodes.values():
        is_leased = episode.state in ("rolling", "verifying")
        assert is_leased == (episode.lease is not None), f"episode {episode.number} is {episode.state}"
    for role in ("rollout", "verify"):
        running = Counter(
            lease.episode.group.entry.name
            for lease in run.leases.values()
            if lease.episode is not None and lease.worker.role == role
        )
        assert dict(running) == {name: n for name, n in run.running[role].items() if n}, f"running in {role}"


def _check_groups(run: Run) -> None:
    inflight: Counter[str] = Counter()
    for group in run.groups.values():
        is_open = [episode for episode in group.episodes if episode.state in _OPEN]
        assert len(is_open) == group.num_open, f"group {group.number} has {len(is_open)} open, counts {group.num_open}"
        assert (group.state == "open") == (group.num_open > 0), f"group {group.number} is {group.state}"
        inflight[group.entry.tier] += len(is_open)
    for tier, count in run.tier_inflight.items():
        assert inflight[tier] == count, f"tier {tier} has {inflight[tier]} in flight, counts {count}"
    for name in run.entries:
        alive = sum(group.stage == run.curriculum.phase and group.entry.name == name for group in run.groups.values())
        consumed = sum(
            body.domain == name
            for taken in run.batches.values()
            if taken.stage == run.curriculum.phase and taken.is_committed
            for body in taken.batch.groups
        )
        assert run.admitted.get(name, 0) >= alive + consumed, f"credits of {name}: {run.admitted.get(name, 0)}"

    ready = {number for number, group in run.groups.items() if group.state == "ready"}
    assert ready == set(run.ready), f"ready but not waiting for a batch: {ready ^ set(run.ready)}"
    under_way = [evaluation for evaluation in run.evaluations.values() if not evaluation.is_done]
    assert under_way == ([run.open_evaluation] if run.open_evaluation is not None else []), "evaluations in progress"


def _check_batches(run: Run) -> None:
    seen: set[int] = set()
    for taken in run.batches.values():
        for group in taken.batch.groups:
            for sibling in group.siblings:
                assert sibling.episode not in seen, f"episode {sibling.episode} is in two batches"
                seen.add(sibling.episode)
    in_batches = {episode.number for episode in run.episodes.values() if episode.state == "batched"}
    assert in_batches <= seen, f"batched but in no batch: {in_batches - seen}"
