"""Rows of the ledger, made from what the core holds; the column order is that of `ledger.STATEMENTS`."""

from collections.abc import Sequence
from typing import Any

import msgspec

from assay.core.array import Array
from assay.core.lifecycle import ENDED
from assay.core.trajectory import WeightVersion
from assay.core.verdict import Scored, Verdict
from assay.core.wire import Checkpoint, Commit, EpisodeDone, FailedTask, ReadyTask, Weights
from assay.runtime.coordinator.instruction import Write
from assay.runtime.coordinator.state import Episode, Evaluation, Feed, Group, Run, TakenBatch

_pack = msgspec.msgpack.Encoder().encode
_json = msgspec.json.Encoder().encode


def _text(value: Any) -> str:
    return _json(value).decode()


def task(entry: str, split: str, ready: ReadyTask) -> Write:
    """A body that a source worker made."""
    return Write("task", (entry, split, ready.index, ready.hash, _pack(ready.blob), "", ""))


def failed_task(entry: str, split: str, failed: FailedTask) -> Write:
    """A row that could not be made."""
    return Write("task", (entry, split, failed.index, "", None, failed.reason, failed.detail))


def group(group: Group) -> Write:
    """The present state of a group."""
    return Write(
        "grp",
        (
            group.number,
            group.entry.name,
            group.split,
            group.index,
            group.stage,
            group.evaluation,
            len(group.episodes),
            group.oldest.pack(),
            group.state,
            group.reason,
            group.step,
            group.position,
        ),
    )


def planned(episode: Episode) -> Write:
    """A submission."""
    return Write("planned", (episode.number, episode.group.number, episode.sibling, episode.seed, episode.planned_s))


def rolled(report: EpisodeDone, now_s: float) -> Write:
    """A trajectory in the store."""
    return Write(
        "rolled",
        (
            report.episode,
            report.version.pack(),
            _pack(report.trajectory),
            _text(report.trace),
            report.trace.tokens,
            report.num_trained_tokens,
            now_s,
            report.answer,
        ),
    )


def verdict(episode: int, verdict: Verdict, wall_s: float, now_s: float) -> Write:
    """A verdict; an unscored one has neither reward nor success nor terms."""
    told: tuple[float | None, bool | None, str | None] = (None, None, None)
    if isinstance(verdict, Scored):
        payout = verdict.payout
        told = (payout.reward, payout.success, _text(payout.terms))
    return Write("verdict", (episode, *told, _text(verdict), wall_s, now_s))


def passed(group: int) -> Write:
    """The audit waits no longer for a group."""
    return Write("meta", (f"audit:{group}", b""))


def lost(episode: int) -> Write:
    """The trajectory of an episode is gone; it will be played again."""
    return Write("lost", (episode,))


def state(episode: Episode) -> Write:
    """How an episode ended, or its retries; all other states follow from the rows there are."""
    ended = episode.state if episode.state in ENDED else None
    return Write("state", (ended, episode.reason, episode.retries, episode.number))


def batch(step: int, taken: TakenBatch, now_s: float) -> Write:
    """What a step consumes."""
    body = taken.batch
    return Write("batch", (step, taken.stage, taken.stage_step, _pack(body), body.shuffled, now_s))


def commit(report: Commit, now_s: float) -> Write:
    """One row per lineage and step."""
    advantages: tuple[Array, Array] = (report.episodes, report.advantages)
    return Write(
        "commits",
        (report.version.pack(), _text(report.metrics), _pack(advantages), report.wait_s, report.busy_s, now_s),
    )


def checkpoint(checkpoint: Checkpoint, now_s: float) -> Write:
    """A checkpoint the ledger vouches for."""
    return Write("checkpoint", (checkpoint.version.pack(), checkpoint.folder, checkpoint.digest, now_s))


def weights(weights: Weights, now_s: float) -> Write:
    """A published version."""
    return Write("weights", (weights.version.pack(), weights.folder, weights.digest, now_s))


def quarantine(feed: Feed, index: int, story: str) -> Write:
    """How many processes a task has killed, and whether it is out."""
    is_out = index in feed.quarantined
    return Write("quarantine", (feed.entry.name, feed.split, index, feed.deaths[index], is_out, story))


def evaluation(evaluation: Evaluation, now_s: float) -> Write:
    """An evaluation that has begun or ended."""
    state = "done" if evaluation.is_done else "open"
    return Write("evaluation", (evaluation.name, evaluation.version.pack(), state, now_s))


def log(what: str, detail: str, now_s: float) -> Write:
    """Something that happened to the run itself."""
    return Write("log", (now_s, what, detail))


class Standing(msgspec.Struct, frozen=True):
    """The part of `Curriculum` that no table holds, as JSON in `meta`."""

    phase: int
    start_step: int
    is_stage_over: bool
    lineage: int
    trainer: bytes
    trainer_step: int
    visible: Weights | None
    demos_used: dict[str, int]
    resumed_step: int = 0
    target: dict[str, float] = {}
    books_from: int = 0
    memory: Any = None
    asked_step: int = 0


def curriculum(run: Run) -> Write:
    """Where the run stands."""
    at = run.curriculum
    standing = Standing(
        at.phase,
        at.start_step,
        at.is_stage_over,
        at.lineage,
        at.trainer,
        at.trainer_step,
        at.visible,
        run.demos_used,
        at.resumed_step,
        run.target,
        run.books_from,
        at.memory,
        at.asked_step,
    )
    return Write("meta", ("curriculum", _json(standing)))


def feed(feed: Feed) -> Write:
    """How far a feed is drawn, and what is drawn and not used."""
    return Write("meta", (f"feed:{feed.entry.name}:{feed.split}", _json((feed.num_drawn, list(feed.ahead)))))


def level(entry: str, level: int, rates: Sequence[float]) -> Write:
    """The level of an entry, and the pass rates that the next change hangs on."""
    return Write("meta", (f"level:{entry}", _json((level, list(rates)))))


def version(packed: int | None) -> WeightVersion | None:
    """Read a version column."""
    return None if packed is None else WeightVersion.unpack(packed)
