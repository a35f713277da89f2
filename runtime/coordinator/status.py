"""What the live display shows, and the figures of a finished run; both from plain values, neither changes anything."""

import sqlite3
from typing import Any

import msgspec

from assay.core.lifecycle import Counts
from assay.runtime.coordinator import audit, curriculum, share
from assay.runtime.coordinator.rule import view
from assay.runtime.coordinator.spec import StageSpec
from assay.runtime.coordinator.state import Run


class EntryStatus(msgspec.Struct, frozen=True):
    """One entry of the mix.

    Attributes:
        share: Target now, summing to 1 over the entries that are played; that of the mix before any is.
        realised: What it got since the targets last changed, of the same thing, in the unit of `balance`.
        means: `pass_rate`, `reward` and each term over the last groups.
        trained: Episodes in committed batches.
        duration_bias: Mean trained tokens over mean sampled tokens, per episode; 1 where no length is preferred.
        is_starved: It got less than a quarter of its target, or no group was trained, over the last steps.
        level: Its difficulty, such as `digits=4`; empty where it has no levels.
        audit: Names of the findings of the audit that stand.
    """

    share: float
    realised: float
    means: dict[str, float]
    trained: int
    duration_bias: float
    is_starved: bool = False
    level: str = ""
    audit: tuple[str, ...] = ()


class Status(msgspec.Struct, frozen=True):
    """One look at a run.

    Attributes:
        at_s: The run's clock.
        phase: Name of the present stage or evaluation; `end` when all are over.
        step: Steps the trainer has committed in its lineage.
        stage_step: The same inside the stage.
        num_stage_steps: Length of the stage; 0 where a rule decides.
        lineage: Of the trainer.
        version: Version rollout workers use.
        queues: Items waiting and working, per stage of the graph.
        workers: Connected workers per role.
        counts: The conservation law.
        entries: Per mix entry.
        evaluations: Name -> entry -> solved, scored.
        lag_mean: Mean staleness of trained episodes, in updates.
        lag_max: Largest.
        trainer_idle: Time blocked in Take over time from first batch to last commit.
        wasted_tokens: Sampled and not trained.
        anomalies: Counts of what is harmless by design, such as duplicates and expired leases.
        stopping: Why the run ends; empty while it goes on.
    """

    at_s: float
    phase: str
    step: int
    stage_step: int
    num_stage_steps: int
    lineage: int
    version: str
    queues: dict[str, int]
    workers: dict[str, int]
    counts: Counts
    entries: dict[str, EntryStatus]
    evaluations: dict[str, dict[str, tuple[int, int]]]
    lag_mean: float
    lag_max: int
    trainer_idle: float
    wasted_tokens: int
    anomalies: dict[str, int]
    stopping: str = ""


def status(run: Run, stopping: str = "") -> Status:
    """Return one look at a run."""
    at = run.curriculum
    phase = curriculum.phase(run)
    workers: dict[str, int] = {}
    for worker in run.workers.values():
        workers[worker.role] = workers.get(worker.role, 0) + 1
    states = [group.state for group in run.groups.values() if group.purpose == "train"]
    return Status(
        round(run.now_s, 3),
        "end" if phase is None else phase.name,
        at.trainer_step,
        at.trainer_step - at.start_step,
        phase.steps if isinstance(phase, StageSpec) else 0,
        at.lineage,
        "" if at.visible is None else str(at.visible.version),
        {
            "source": sum(len(feed.asked) for feed in run.feeds.values()),
            "rollout_waiting": len(run.rollout_queue),
            "rollout_running": sum(run.running["rollout"].values()),
            "verify_waiting": len(run.verify_queue),
            "verify_running": sum(run.running["verify"].values()),
            "groups_open": states.count("open"),
            "groups_ready": states.count("ready"),
            "groups_batched": states.count("batched"),
        },
        workers,
        run.counts,
        _entries(run),
        {
            name: {entry: (evaluation.solved.get(entry, 0), scored) for entry, scored in evaluation.scored.items()}
            for name, evaluation in run.evaluations.items()
        },
        run.lag_sum / run.lag_n if run.lag_n else 0.0,
        run.lag_max,
        idle(run.wait_s, run.first_batch_s, run.last_commit_s),
        run.wasted_tokens,
        run.anomalies,
        stopping,
    )


def idle(wait_s: float, first_batch_s: float, last_commit_s: float) -> float:
    """Return the part of the trainer's time that it was blocked in Take."""
    wall_s = last_commit_s - first_batch_s
    return min(1.0, wait_s / wall_s) if wall_s > 0 else 0.0


def figures(db: sqlite3.Connection) -> dict[str, Any]:
    """Return the figures of a run from its ledger: counts, updates, idle share, lag and every evaluation.

    Returns:
        `episodes` (the conservation law), `updates`, `trainer_idle`, `lag`, `wall_s`, `first_update_s`, `evaluations`
        (name -> entry -> `{"solved", "scored", "unscored", "dropped"}`) and `anomalies` of rows.
    """
    counts = Counts(dropped={})
    for state, reason, number in db.execute("SELECT state, reason, COUNT(*) FROM episode GROUP BY state, reason"):
        counts.submitted += number
        if state in ("trained", "evaluated"):
            setattr(counts, state, getattr(counts, state) + number)
        elif state == "dropped":
            counts.dropped[reason] = counts.dropped.get(reason, 0) + number
        else:
            counts.in_flight += number
    evaluations: dict[str, dict[str, dict[str, int]]] = {}
    for name, entry, solved, scored, unscored, dropped in db.execute(
        "SELECT evaluation, entry, SUM(e.success), COUNT(e.reward), SUM(e.state = 'evaluated' AND e.reward IS NULL), "
        "SUM(e.state = 'dropped') FROM grp JOIN episode e USING (grp) "
        "WHERE evaluation != '' AND split = 'eval' GROUP BY evaluation, entry"
    ):
        evaluations.setdefault(name, {})[entry] = {
            "solved": solved or 0,
            "scored": scored,
            "unscored": unscored,
            "dropped": dropped,
        }
    first_batch_s, last_commit_s, updates, first_update_s, wait_s = db.execute(
        "SELECT (SELECT MIN(taken_s) FROM batch), MAX(at_s), COUNT(DISTINCT version & 1099511627775), MIN(at_s), "
        "COALESCE(SUM(CASE WHEN version & 1099511627775 > 1 THEN wait_s ELSE 0 END), 0) FROM commits"
    ).fetchone()
    lag_mean, lag_max = db.execute(
        "SELECT AVG(lag), MAX(lag) FROM (SELECT MAX(0, g.step - 1 - (e.version & 1099511627775)) AS lag "
        "FROM grp g JOIN episode e USING (grp) WHERE e.state IN ('batched', 'trained'))"
    ).fetchone()
    (wall_s,) = db.execute("SELECT MAX(at_s) FROM log").fetchone()
    return {
        "updates": updates,
        "episodes": msgspec.structs.asdict(counts),
        "trainer_idle": idle(wait_s, first_batch_s or 0.0, last_commit_s or 0.0),
        "lag": {"mean": lag_mean or 0.0, "max": lag_max or 0},
        "wall_s": wall_s or 0.0,
        "first_update_s": first_update_s,
        "evaluations": evaluations,
    }


def _entries(run: Run) -> dict[str, EntryStatus]:
    means = view(run).means
    got = share.realised(run)
    entries = {}
    for name, entry in run.entries.items():
        tally = run.tallies[name]
        sampled = tally.sampled_tokens / tally.sampled_episodes if tally.sampled_episodes else 0.0
        trained = tally.unit_sum / tally.trained_episodes if tally.trained_episodes else 0.0
        entries[name] = EntryStatus(
            (run.target or run.share)[name],
            got[name],
            dict(means[name]),
            tally.trained_episodes,
            trained / sampled if sampled and trained else 1.0,
            name in run.starved,
            entry.levels[tally.level].name if entry.levels else "",
            audit.standing(run, name),
        )
    return entries
