"""What an evaluation with several answers per task comes to: the answer that counts, beside one answer and all of them.

It reads what a run stored, so nothing is played for it. A task without a verified answer counts in nothing.
"""

import random
from collections.abc import Sequence
from typing import Any

import msgspec

from assay.core.error import AssayError, PluginError
from assay.core.registry import owner_of
from assay.core.signal import SignalValue
from assay.core.strategy import Sample, Strategy
from assay.core.trajectory import Trajectory
from assay.core.verdict import Scored
from assay.runtime.regrade.stored import Row, StoredRun
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import RunPlan
from assay.runtime.strategy.sight import make_strategy, visible


class Tally(msgspec.Struct):
    """Sums over the tasks of one entry in one evaluation.

    Attributes:
        tasks: With at least one verified answer.
        unscored: Without one.
        chosen: Tasks whose answer that counts is right; over all answers alike where there is no strategy.
        alone: Sum over tasks of the part of verified answers that is right: pass@1.
        whole: Tasks whose every answer was verified.
        any_right: Of these, tasks with a right answer: pass@n, which only an oracle reaches.
        tokens: Sampled, of all answers.
    """

    tasks: int = 0
    unscored: int = 0
    chosen: float = 0.0
    alone: float = 0.0
    whole: int = 0
    any_right: int = 0
    tokens: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the figures; None where there is nothing to divide by."""
        num_played = self.tasks + self.unscored
        return {
            "accuracy": self.chosen / self.tasks if self.tasks else None,
            "pass_at_1": self.alone / self.tasks if self.tasks else None,
            "pass_at_n": self.any_right / self.whole if self.whole else None,
            "tasks": self.tasks,
            "tasks_unscored": self.unscored,
            "tasks_all_scored": self.whole,
            "tokens": self.tokens,
            "tokens_per_task": self.tokens / num_played if num_played else None,
        }


def choose(plan: RunPlan, folder: RunFolder) -> dict[str, Any]:
    """Return strategy, number of answers per task, and the figures by evaluation and entry.

    Raises:
        PluginError: the strategy raised, or picked what is not there; names its distribution.
        StoreError: a trajectory is gone.
    """
    settings = plan.settings["eval"]
    strategy = make_strategy(plan)
    owner = owner_of(plan.factories["strategy"]) if strategy is not None else ""
    seen = {entry.name: visible(entry) for entry in plan.entries} if strategy is not None else {}
    tallies: dict[str, dict[str, Tally]] = {}
    with StoredRun(folder) as run:
        for rows in run.held_out():
            first = rows[0]
            tally = tallies.setdefault(first.evaluation, {}).setdefault(first.entry, Tally())
            tally.tokens += sum(_tokens(row) for row in rows)
            scored = [row for row in rows if row.reward is not None]
            if not scored:
                tally.unscored += 1
                continue
            right = [_is_right(row) for row in scored]
            tally.tasks += 1
            tally.alone += sum(right) / len(right)
            if len(scored) == settings["samples"]:
                tally.whole += 1
                tally.any_right += any(right)
            if strategy is None:
                tally.chosen += sum(right) / len(right)
            else:
                samples = [_sample(row, run.played(row), seen[first.entry]) for row in scored]
                seed = f"{plan.seed}:strategy:{first.evaluation}:{first.entry}:{first.index}"
                tally.chosen += right[ask(strategy, samples, random.Random(seed), owner)]
    return {
        "strategy": settings.get("strategy", "none"),
        "samples": settings.get("samples", 1),
        "evaluations": {
            name: {entry: tally.to_json() for entry, tally in found.items()} for name, found in tallies.items()
        },
    }


def ask(strategy: Strategy, samples: Sequence[Sample], rng: random.Random, owner: str) -> int:
    """Return what a strategy picks.

    Raises:
        PluginError: it raised, or picked what is not there; names `owner`.
    """
    try:
        picked = strategy.pick(tuple(samples), rng)
    except AssayError:
        raise
    except Exception as error:
        raise PluginError("a strategy must not raise", got=repr(error), at=owner) from error
    if isinstance(picked, bool) or not isinstance(picked, int) or not 0 <= picked < len(samples):
        raise PluginError(f"a strategy must pick a position in [0, {len(samples)})", got=repr(picked), at=owner)
    return picked


def _tokens(row: Row) -> int:
    number = 0 if row.trace_text is None else row.trace["tokens"]
    return number if isinstance(number, int) else 0


def _is_right(row: Row) -> bool:
    verdict = row.verdict
    return isinstance(verdict, Scored) and verdict.payout.success


def _sample(row: Row, played: Trajectory, seen: frozenset[str]) -> Sample:
    logprobs = [float(value) for segment in played.segments for value in segment.behavior_logprobs.to_list()]
    signals: dict[str, SignalValue] = {}
    for name, measured in row.verdict.measurements.items():
        if name in seen:
            signals |= {f"{name}.{signal}": value for signal, value in measured.signals.items()}
    return Sample(
        answer=played.answer,
        text=played.final_text,
        tokens=played.trace.tokens,
        mean_logprob=sum(logprobs) / len(logprobs) if logprobs else 0.0,
        is_truncated=played.trace.truncated,
        signals=signals,
    )
