"""Rebuilds what the core knows from the ledger.

What a ledger holds comes back exactly; leases, queues and credits are derived from it. An episode that was leased
stands as waiting, until its worker says that it still holds it.
"""

from collections import deque

import msgspec

from assay.core.blob import BlobRef
from assay.core.group import Batch
from assay.core.scheduler import TaskStats
from assay.core.trajectory import Trace, WeightVersion
from assay.core.wire import Checkpoint, Weights
from assay.runtime.audit.replay import TAKEN_BACK
from assay.runtime.coordinator import audit, lease, level, share
from assay.runtime.coordinator.feed import task_ref
from assay.runtime.coordinator.ledger import Ledger
from assay.runtime.coordinator.record import Standing
from assay.runtime.coordinator.spec import EvaluationSpec, RunSpec
from assay.runtime.coordinator.state import Episode, Evaluation, Group, Run, TakenBatch
from assay.runtime.coordinator.transition import _OPEN

_blob = msgspec.msgpack.Decoder(BlobRef).decode
_batch = msgspec.msgpack.Decoder(Batch).decode
_terms = msgspec.json.Decoder(dict[str, float]).decode
_trace = msgspec.json.Decoder(Trace).decode


def recover(spec: RunSpec, ledger: Ledger) -> tuple[Run, float] | None:
    """Return the state a ledger describes and the run's clock at its last entry; None where the run never began."""
    standing = ledger.meta("curriculum")
    last_s = max((row[0] or 0.0 for row in ledger.rows(_LAST)), default=0.0)
    if standing is None and not last_s:
        return None
    run = Run(spec)
    run.now_s = run.verified_s = last_s
    _read_curriculum(run, ledger, standing)
    _read_feeds(run, ledger)
    _read_evaluations(run, ledger)
    _read_episodes(run, ledger)
    _read_batches(run, ledger)
    _read_tallies(run, ledger)
    audit.read(run, ledger)
    return run, last_s


_LAST = (
    "SELECT MAX(at_s) FROM log UNION ALL SELECT MAX(at_s) FROM commits UNION ALL SELECT MAX(planned_s) FROM submission "
    "UNION ALL SELECT MAX(rolled_s) FROM rollout UNION ALL SELECT MAX(verified_s) FROM verdict"
)
_IS_SCORED = "FILTER (WHERE e.reward IS NOT NULL)"


def _read_curriculum(run: Run, ledger: Ledger, standing: bytes | None) -> None:
    at = run.curriculum
    if standing is not None:
        stood = msgspec.json.decode(standing, type=Standing)
        at.phase, at.start_step, at.is_stage_over = stood.phase, stood.start_step, stood.is_stage_over
        at.lineage, at.trainer, at.trainer_step = stood.lineage, stood.trainer, stood.trainer_step
        at.visible, at.resumed_step = stood.visible, stood.resumed_step
        at.memory, at.asked_step = stood.memory, stood.asked_step
        run.demos_used = stood.demos_used
        run.target, run.books_from = stood.target, stood.books_from
    for version, folder, digest in ledger.rows(
        "SELECT version, folder, digest FROM weights ORDER BY version DESC LIMIT 1"
    ):
        at.published = Weights(WeightVersion.unpack(version), folder, digest)
    # The newest by time: a lineage that fell back saves steps again that an older one had reached.
    for version, folder, digest in ledger.rows(
        "SELECT version, folder, digest FROM checkpoint ORDER BY at_s DESC, version DESC LIMIT 1"
    ):
        at.checkpoint = Checkpoint(WeightVersion.unpack(version), folder, digest)
    if at.published is None:
        at.published = at.visible


def _read_feeds(run: Run, ledger: Ledger) -> None:
    for name, value in ledger.rows("SELECT name, value FROM meta WHERE name LIKE 'feed:%'"):
        _, entry, split = name.split(":")
        if entry in run.entries:
            feed = run.feed(entry, split)
            feed.num_drawn, ahead = msgspec.json.decode(value)
            feed.ahead = deque(ahead)
    for name, value in ledger.rows("SELECT name, value FROM meta WHERE name LIKE 'level:%'"):
        tally = run.tallies.get(name.partition(":")[2])
        if tally is not None:
            tally.level, rates = msgspec.json.decode(value)
            tally.level_rates = deque(rates)
    for entry, split, index, blob in ledger.rows("SELECT entry, split, idx, blob FROM task"):
        if entry not in run.entries:
            continue
        feed = run.feed(entry, split)
        if blob is None:
            feed.failed.add(index)
        else:
            feed.ready[index] = _blob(blob)
    for entry, split, index, deaths, is_out in ledger.rows("SELECT entry, split, idx, deaths, is_out FROM quarantine"):
        feed = run.feed(entry, split)
        feed.deaths[index] = deaths
        if is_out:
            feed.quarantined.add(index)
    for feed in run.feeds.values():
        level.restore(feed, run.tallies[feed.entry.name].level if feed.split == "train" else 0)


def _read_evaluations(run: Run, ledger: Ledger) -> None:
    phases = {phase.name: phase for phase in run.spec.phases if isinstance(phase, EvaluationSpec)}
    for name, version, state in ledger.rows("SELECT name, version, state FROM evaluation"):
        phase = phases.get(name)
        evaluation = run.evaluations[name] = Evaluation(
            name,
            WeightVersion.unpack(version),
            {},
            samples=1 if phase is None else phase.samples,
            is_done=state == "done",
        )
        played: dict[tuple[str, str], set[int]] = {}
        for entry, split, index in ledger.rows("SELECT entry, split, idx FROM grp WHERE evaluation = ?", (name,)):
            played.setdefault((entry, split), set()).add(index)
        if not evaluation.is_done:
            run.open_evaluation = evaluation
            parts = () if phase is None else ((phase.sizes, "eval"), (phase.canaries, "canary"))
            for sizes, split in parts:
                left = evaluation.todo if split == "eval" else evaluation.canaries
                for entry, size in sizes.items():
                    todo = deque(index for index in range(size) if index not in played.get((entry, split), ()))
                    if todo:
                        left[entry] = todo
        for entry, scored, solved in ledger.rows(
            "SELECT entry, COUNT(reward), SUM(success) FROM episode JOIN grp USING (grp) "
            "WHERE evaluation = ? AND split = 'eval' AND episode.state = 'evaluated' GROUP BY entry",
            (name,),
        ):
            evaluation.scored[entry], evaluation.solved[entry] = scored, solved or 0


def _read_episodes(run: Run, ledger: Ledger) -> None:
    for row in ledger.rows(
        "SELECT grp, entry, split, idx, stage, evaluation, oldest, state, step, position FROM grp "
        "WHERE state IN ('open', 'ready', 'batched') ORDER BY grp"
    ):
        number, name, split, index, stage, evaluation, oldest, state, step, position = row
        entry = run.entries[name]
        group = Group(
            number,
            entry,
            split,
            index,
            task_ref(run.feed(name, split), index),
            run.feed(name, split).ready[index],
            "evaluate" if evaluation else "train",
            stage,
            evaluation,
            WeightVersion.unpack(oldest),
            state=state,
            step=step,
            position=position,
        )
        run.groups[number] = group
        if state == "ready":
            run.ready[number] = group
        if evaluation:
            run.evaluations[evaluation].num_open += 1
    query = (
        "SELECT e.episode, e.grp, e.sibling, e.seed, e.planned_s, e.state, e.reason, e.retries, e.version, "
        "e.trajectory, e.tokens, e.trained_tokens, e.reward, e.success, e.terms, e.trace, "
        "(SELECT answer FROM rollout r WHERE r.episode = e.episode) "
        "FROM episode e JOIN grp g ON g.grp = e.grp "
        "WHERE g.state IN ('open', 'ready', 'batched') ORDER BY e.episode"
    )
    for row in ledger.rows(query):
        _restore(run, row)
    counts = run.counts
    for state, reason, number in ledger.rows("SELECT state, reason, COUNT(*) FROM episode GROUP BY state, reason"):
        counts.submitted += number
        if state == "trained":
            counts.trained += number
        elif state == "evaluated":
            counts.evaluated += number
        elif state == "dropped":
            counts.dropped[reason] = counts.dropped.get(reason, 0) + number
        else:
            counts.in_flight += number
    run.next_episode = _one(ledger, "SELECT COALESCE(MAX(episode) + 1, 0) FROM episode")
    run.next_group = _one(ledger, "SELECT COALESCE(MAX(grp) + 1, 0) FROM grp")


def _restore(run: Run, row: tuple) -> None:
    number, grp, sibling, seed, planned_s, state, reason, retries = row[:8]
    version, trajectory, tokens, trained_tokens, reward, success, terms, text, answer = row[8:]
    group = run.groups[grp]
    trace = _trace(text) if text else None
    episode = Episode(
        number,
        group,
        sibling,
        seed,
        planned_s,
        state=state,
        reason=reason,
        retries=retries,
        version=None if version is None else WeightVersion.unpack(version),
        trajectory=None if trajectory is None else _blob(trajectory),
        tokens=tokens or 0,
        trained_tokens=trained_tokens or 0,
        turns=trace.turns if trace else 0,
        is_truncated=trace.truncated if trace else False,
        answer=answer or 0,
        wall_s=trace.wall_s if trace else 0.0,
        reward=reward,
        success=bool(success),
        terms={} if terms is None else _terms(terms),
    )
    group.episodes.append(episode)
    if state in ("trained", "evaluated", "dropped"):
        return
    run.episodes[number] = episode
    if state in _OPEN:
        group.num_open += 1
        tier = group.entry.tier
        run.tier_inflight[tier] = run.tier_inflight.get(tier, 0) + 1
        (lease.queue_rollout if state == "planned" else lease.queue_verify)(run, episode)


def _read_batches(run: Run, ledger: Ledger) -> None:
    at = run.curriculum
    at.frontier = _one(ledger, "SELECT COALESCE(MAX(step), 0) FROM batch")
    if run.spec.start is not None:
        at.frontier = run.spec.start.version.step
    committed = {version & (1 << 40) - 1 for (version,) in ledger.rows("SELECT version FROM commits")}
    for step, stage, stage_step, body in ledger.rows("SELECT step, stage, stage_step, body FROM batch ORDER BY step"):
        run.batches[step] = TakenBatch(_batch(body), stage, stage_step, step in committed)
    for name, number in ledger.rows(
        "SELECT entry, COUNT(*) FROM grp WHERE stage = ? AND state != 'dropped' GROUP BY entry", (at.phase,)
    ):
        run.admitted[name] = number


def _read_tallies(run: Run, ledger: Ledger) -> None:
    for name, number in ledger.rows("SELECT entry, COUNT(*) FROM grp WHERE stage >= 0 GROUP BY entry"):
        if name in run.tallies:
            run.planned[name] = number
    # In the order they were played: those of older weights are forgotten on the way.
    for name, version, tokens, text in ledger.rows(
        "SELECT g.entry, r.version, r.tokens, r.trace FROM rollout r JOIN submission s USING (episode) "
        "JOIN grp g ON g.grp = s.grp WHERE g.evaluation != '' ORDER BY r.rolled_s, r.episode"
    ):
        if name in run.tallies:
            run.tallies[name].see(WeightVersion.unpack(version), tokens, _trace(text).wall_s)
    for name, account in share.read_accounts(ledger.rows, run.spec.balance, run.books_from).items():
        if name in run.accounts:
            run.accounts[name] = account
    for name, seconds, number in ledger.rows(
        f"SELECT g.entry, SUM({share.SPENT_S}), COUNT(*) FROM episode e JOIN grp g USING (grp) "
        "WHERE g.stage >= 0 AND e.verified_s IS NOT NULL GROUP BY g.entry"
    ):
        if name in run.tallies:
            run.tallies[name].spent_s, run.tallies[name].spent_episodes = seconds, number
    groups = ledger.rows(
        f"SELECT g.entry, g.idx, g.state, AVG(e.success), AVG(e.reward), json_group_array(json(e.terms)) {_IS_SCORED}, "
        f"SUM(e.trained_tokens) {_IS_SCORED}, COUNT(e.reward), SUM(e.tokens) {_IS_SCORED} "
        "FROM grp g JOIN episode e USING (grp) WHERE g.stage >= 0 AND g.state != 'open' GROUP BY g.grp "
        f"HAVING COUNT(e.reward) > 0 AND NOT MAX(e.verified_s IS NULL AND e.reason IN {TAKEN_BACK}) "
        "ORDER BY MAX(e.verified_s)"
    )
    for name, index, state, rate, reward, terms, trained, number, tokens in groups:
        tally = run.tallies.get(name)
        if tally is None:
            continue
        means = {"pass_rate": rate, "reward": reward}
        listed = msgspec.json.decode(terms, type=list[dict[str, float]])
        for key in listed[0]:
            means[key.rpartition(".")[2]] = sum(item.get(key, 0.0) for item in listed) / len(listed)
        tally.recent.append(means)
        if len(tally.recent) > run.spec.window:
            tally.recent.popleft()
        at, row = level.place(run.entries[name], index)
        stats = tally.stats.setdefault(at, {})
        before = stats.get(row, TaskStats(row, 0, 0.0))
        total = before.pass_rate * before.groups + rate
        stats[row] = TaskStats(row, before.groups + 1, total / (before.groups + 1))
        if state == "trained":
            tally.trained_episodes += number
            tally.trained_tokens += trained or 0
            run.trained_tokens += trained or 0
            tally.unit_groups += 1
            tally.unit_sum += tokens or 0
    for name, number, tokens in ledger.rows(
        "SELECT entry, COUNT(*), SUM(tokens) FROM episode JOIN grp USING (grp) "
        "WHERE trajectory IS NOT NULL GROUP BY entry"
    ):
        if name in run.tallies:
            run.tallies[name].sampled_episodes, run.tallies[name].sampled_tokens = number, tokens or 0
    run.wait_s, run.last_commit_s, run.first_batch_s = next(
        ledger.rows(
            "SELECT COALESCE(SUM(CASE WHEN version & 1099511627775 > 1 THEN wait_s ELSE 0 END), 0.0), "
            "COALESCE(MAX(at_s), 0.0), (SELECT COALESCE(MIN(taken_s), 0.0) FROM batch) FROM commits"
        )
    )
    for taken in run.batches.values():
        for group in taken.batch.groups:
            for sibling in group.siblings:
                lag = max(0, taken.batch.step - 1 - sibling.version.step)
                run.lag_sum, run.lag_n, run.lag_max = run.lag_sum + lag, run.lag_n + 1, max(run.lag_max, lag)


def _one(ledger: Ledger, sql: str) -> int:
    return int(next(ledger.rows(sql))[0])
