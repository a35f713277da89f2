"""Groups: counted as their siblings are verified, then admitted to training or dropped with a reason.

Only scored siblings count. An unscored one enters no reward, no mean, no size; the group goes on without it while it
has `min_scored` others, and what the others are worth does not change.
"""

import math

from assay.core.error import AssayError, PluginError
from assay.core.lifecycle import DropReason
from assay.core.scheduler import TaskStats
from assay.core.verdict import Cause, Scored, Unscored, Verdict
from assay.core.wire import Cancel
from assay.runtime.coordinator import audit, level, record, share
from assay.runtime.coordinator.instruction import Instruction, Send
from assay.runtime.coordinator.lease import end
from assay.runtime.coordinator.state import Episode, Group, Run
from assay.runtime.coordinator.transition import step


def judge(run: Run, out: list[Instruction], episode: Episode, verdict: Verdict, wall_s: float) -> None:
    """Take in the verdict of an episode."""
    run.verify_queue.pop(episode.number, None)
    if isinstance(verdict, Scored) and not math.isfinite(verdict.payout.reward):
        verdict = Unscored("verifier_fault", f"reward {verdict.payout.reward}", measurements=verdict.measurements)
    out.append(record.verdict(episode.number, verdict, wall_s, run.stamp()))
    if episode.group.purpose == "train":
        tally = run.tallies[episode.group.entry.name]
        tally.spent_s += wall_s + episode.wall_s
        tally.spent_episodes += 1
        share.charge(run, episode.group, "compute_s", wall_s)
    if isinstance(verdict, Scored):
        payout = verdict.payout
        episode.reward, episode.success, episode.terms = payout.reward, payout.success, payout.terms
        step(run, episode, "scored")
    else:
        run.count(f"unscored_{verdict.cause}")
        step(run, episode, "unscored", verdict.cause)
    _after_sibling(run, out, episode)


def unscore(run: Run, out: list[Instruction], episode: Episode, cause: Cause, detail: str) -> None:
    """End the verification of an episode without a verdict from a worker."""
    judge(run, out, episode, Unscored(cause, detail), 0.0)


def drop(run: Run, out: list[Instruction], episode: Episode, reason: DropReason) -> None:
    """Drop one sibling; the group goes on without it."""
    run.rollout_queue.pop(episode.number, None)
    run.verify_queue.pop(episode.number, None)
    step(run, episode, "dropped", reason)
    _after_sibling(run, out, episode)


def cancel(run: Run, out: list[Instruction], group: Group, reason: DropReason) -> None:
    """Drop a group that is in no batch, with all its siblings, and take their leases back."""
    for episode in group.episodes:
        if episode.lease is not None:
            out.append(Send(episode.lease.worker.peer, Cancel((episode.lease.number,))))
            end(run, episode.lease)
    if group.purpose == "train":
        audit.skip(run, out, group)
    _drop_group(run, group, reason)


def _after_sibling(run: Run, out: list[Instruction], episode: Episode) -> None:
    group = episode.group
    if group.purpose == "evaluate":
        _after_evaluated(run, out, group, episode)
    elif group.num_open == 0:
        _resolve(run, out, group)


def _after_evaluated(run: Run, out: list[Instruction], group: Group, episode: Episode) -> None:
    evaluation = run.evaluations[group.evaluation]
    if episode.state != "dropped":
        if episode.state == "scored" and group.split == "canary":
            audit.canary(run, out, episode)
        elif episode.state == "scored":
            name = group.entry.name
            evaluation.scored[name] = evaluation.scored.get(name, 0) + 1
            evaluation.solved[name] = evaluation.solved.get(name, 0) + episode.success
        step(run, episode, "evaluated")
    if group.num_open == 0:
        group.state = "evaluated"
        evaluation.num_open -= 1
        _forget(run, group)


def _resolve(run: Run, out: list[Instruction], group: Group) -> None:
    """Every sibling of a training group is verified or dropped."""
    scored = [episode for episode in group.episodes if episode.state == "scored"]
    rewards = [episode.reward for episode in scored if episode.reward is not None]
    audit.end(run, out, group, scored)
    if scored:
        _tally(run, out, group, scored)
    if len(scored) < group.entry.min_scored:
        _drop_group(run, group, "below_min_scored")
    elif not _is_admitted(run, rewards):
        _drop_group(run, group, "not_admitted")
    else:
        for episode in group.episodes:
            if episode.state == "scored":
                step(run, episode, "grouped")
            elif episode.state == "unscored":
                step(run, episode, "dropped", "unscored")
        group.state = "ready"
        run.ready[group.number] = group
        run.dirty_groups[group.number] = group


def _is_admitted(run: Run, rewards: list[float]) -> bool:
    admit = run.spec.admit
    try:
        return bool(admit(rewards))
    except AssayError:
        raise
    except Exception as error:
        raise PluginError(
            "`admit` must not raise",
            got=repr(error),
            at=f"{type(admit).__module__}:{getattr(admit, '__name__', admit)}",
        ) from error


def _drop_group(run: Run, group: Group, reason: DropReason) -> None:
    """Give the group's credit back, so that another one takes its place."""
    for episode in group.episodes:
        if episode.state not in ("dropped", "evaluated"):
            run.rollout_queue.pop(episode.number, None)
            run.verify_queue.pop(episode.number, None)
            step(run, episode, "dropped", reason)
    group.state, group.reason = "dropped", reason
    if group.purpose == "train":
        if reason != "stage_over":
            share.close(run, group, is_trained=False)
        run.admitted[group.entry.name] = run.admitted.get(group.entry.name, 0) - 1
        if group.stage != run.curriculum.phase:
            # Credits are counted per stage; a group of an earlier one had none here.
            run.admitted[group.entry.name] += 1
    else:
        run.evaluations[group.evaluation].num_open -= 1
    _forget(run, group)


def _forget(run: Run, group: Group) -> None:
    run.groups.pop(group.number, None)
    run.ready.pop(group.number, None)
    run.dirty_groups[group.number] = group


def _tally(run: Run, out: list[Instruction], group: Group, scored: list[Episode]) -> None:
    tally = run.tallies[group.entry.name]
    means = {
        "pass_rate": sum(episode.success for episode in scored) / len(scored),
        "reward": sum(episode.reward or 0.0 for episode in scored) / len(scored),
    }
    for name in scored[0].terms:
        means[name.rpartition(".")[2]] = sum(episode.terms.get(name, 0.0) for episode in scored) / len(scored)
    tally.recent.append(means)
    if len(tally.recent) > run.spec.window:
        tally.recent.popleft()
    at, row = level.place(group.entry, group.index)
    stats = tally.stats.setdefault(at, {})
    before = stats.get(row, TaskStats(row, 0, 0.0))
    rate = (before.pass_rate * before.groups + means["pass_rate"]) / (before.groups + 1)
    stats[row] = TaskStats(row, before.groups + 1, rate)
    level.observe(run, out, group, at, means["pass_rate"])
