"""Findings: what the figures of a window say, in plain words.

Each finding has a name, a subject where an entry can have it of several things, and is judged with two levels: it
begins above one and is over below another. Where there is too little to say, it stays as it was.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from assay.runtime.audit.block import Block, Slope, rise
from assay.runtime.audit.threshold import Thresholds

NAMES = (
    "dominance",
    "flat_outcome",
    "length",
    "turns",
    "saturated",
    "floor",
    "stuck_term",
    "same_answer",
    "same_siblings",
    "canary",
)
# Places in `Block.totals` and in the series of a trend: reward, success, tokens, terms, gate, outcome, penalties.
REWARD, SUCCESS, TOKENS, FIRST_TERM = 0, 1, 2, 3
OUTCOME, PENALTIES = -2, -1
# A term is declared large where its span is at least this part of that of the one that dominates.
_LARGE = 0.25
# Whoever solves more than this part has an outcome that can only be flat, and siblings that are right to be equal.
_SOLVED, _HALF = 0.9, 0.5
# Part of the groups with spread that must differ in length too.
_COMMON = 0.25

Range = tuple[float | None, float | None]


class Judgement(msgspec.Struct, frozen=True):
    """What one look says of one finding.

    Attributes:
        name: One of `NAMES`.
        subject: Which term; empty where an entry has it once.
        is_on: Above the upper level, below the lower one, or None between them.
        text: In plain words with the figures.
        figures: Behind it.
        episode: One to look at; -1 where none is telling.
    """

    name: str
    subject: str
    is_on: bool | None
    text: str
    figures: dict[str, Any]
    episode: int = -1


class Subject(msgspec.Struct, frozen=True):
    """What is known of an entry before its first verdict.

    Attributes:
        terms: `section.name`, in the order of the sum.
        ranges: Proved ends of terms; None for an end that is not known.
    """

    terms: tuple[str, ...]
    ranges: Mapping[str, Range] = {}

    @property
    def penalties(self) -> tuple[int, ...]:
        """Places of the terms of process and efficiency."""
        return tuple(index for index, name in enumerate(self.terms) if not name.startswith("outcome."))

    def span(self, name: str) -> float | None:
        """Return how far a term can move; None where an end is not known."""
        low, high = self.ranges.get(name, (None, None))
        return None if low is None or high is None else high - low


def judge_levels(subject: Subject, window: Block, is_whole: bool, at: Thresholds) -> Iterator[Judgement]:
    """Judge everything that a window says.

    Args:
        subject: The entry.
        window: Its last groups.
        is_whole: The window has all its blocks.
        at: Levels.
    """
    yield from _dominance(subject, window, at)
    yield _correlation("length", "tokens", window, at)
    yield _correlation("turns", "turns", window, at)
    yield from _saturation(window, at)
    yield from _stuck(subject, window, is_whole, at)
    yield _same_answer(window, at)
    yield _same_siblings(window, at)


def judge_trend(slopes: Sequence[Slope], window: Block, at: Thresholds) -> Judgement:
    """Judge whether reward is gained that is not the task: penalties shrink while the outcome stays where it is."""
    num = len(slopes) * at.block
    outcome, penalty, solved = (rise(slopes, at.block, which) for which in (OUTCOME, PENALTIES, SUCCESS))
    deviation, rate = window.deviation, window.solved / window.episodes
    # What the outcome may have risen by at most, as far as this much noise lets one say.
    most = outcome.value + 2 * outcome.error
    is_rising = penalty.value >= at.noise * penalty.error and penalty.value >= at.rise * deviation > 0
    is_on: bool | None = None
    if is_rising and most <= penalty.value / 2 and rate < _SOLVED:
        is_on = True
    elif penalty.value < at.relief * at.rise * deviation or outcome.value > penalty.value or rate >= _SOLVED:
        is_on = False
    return Judgement(
        "flat_outcome",
        "",
        is_on,
        f"over {num} groups process and efficiency rose by {penalty.value:+.3f} and the outcome by "
        f"{outcome.value:+.3f} (at most {most:+.3f}), pass rate {rate:.2f}: reward was gained that is not the task",
        {
            "groups": num,
            "penalties_rise": penalty.value,
            "penalties_error": penalty.error,
            "outcome_rise": outcome.value,
            "outcome_error": outcome.error,
            "pass_rate_rise": solved.value,
            "pass_rate": rate,
        },
        window.best,
    )


def judge_canary(row: int, episode: int) -> Judgement:
    """Return what a solved canary says."""
    text = f"no honest policy solves row {row} of data.canary, and episode {episode} did"
    return Judgement("canary", "", True, text, {"row": row}, episode)


def _dominance(subject: Subject, window: Block, at: Thresholds) -> Iterator[Judgement]:
    shares = window.shares
    if window.varied < at.min_spread or shares is None:
        return
    penalties = set(subject.penalties)
    if penalties:
        share = sum(shares[index] for index in penalties)
        outcome = sum(shares[:-1]) - share
        largest = subject.terms[max(penalties, key=lambda index: shares[index])]
        is_on = share >= at.penalties and window.tilt.total > 0 and window.tilt.noise >= at.noise
        is_off = share < at.relief * at.penalties
        yield Judgement(
            "dominance",
            "penalties",
            True if is_on else False if is_off else None,
            f"process and efficiency make {share:.0%} of what rewards differ by within groups, the outcome "
            f"{outcome:.0%} ({window.varied} groups with spread); most of it {largest}",
            {"share": share, "outcome": outcome, "groups": window.varied, "noise": window.tilt.noise},
            window.best,
        )
    for index, name in enumerate(subject.terms):
        span = subject.span(name)
        if index in penalties or span is None:
            continue
        idle = [
            other
            for place, other in enumerate(subject.terms)
            if place != index
            and place not in penalties
            and (subject.span(other) or 0.0) >= _LARGE * span
            and abs(shares[place]) <= (1 - at.dominance)
        ]
        is_off = shares[index] < at.relief * at.dominance or not idle
        yield Judgement(
            "dominance",
            name,
            True if idle and shares[index] >= at.dominance else False if is_off else None,
            f"{name} makes {shares[index]:.0%} of what rewards differ by within groups "
            f"({window.varied} groups with spread), {', '.join(idle)} next to nothing",
            {"share": shares[index], "groups": window.varied},
            window.best,
        )


def _correlation(name: str, unit: str, window: Block, at: Thresholds) -> Judgement:
    mean = window.length if name == "length" else window.turns
    # Where most groups do not differ in length, it is a rare slip that is paid less, not length that is paid.
    is_enough = mean.num >= max(at.min_spread, _COMMON * window.varied)
    is_on = is_enough and abs(mean.value) >= at.length and mean.noise >= at.noise
    is_off = is_enough and abs(mean.value) < at.relief * at.length
    more = "more" if mean.value > 0 else "fewer"
    return Judgement(
        name,
        "",
        True if is_on else False if is_off else None,
        f"among siblings, {more} {unit} go with more reward: mean correlation {mean.value:+.2f} over {mean.num} groups "
        f"({mean.noise:.0f} standard errors from none)",
        {"correlation": mean.value, "groups": mean.num, "noise": mean.noise},
        window.best_length,
    )


def _saturation(window: Block, at: Thresholds) -> Iterator[Judgement]:
    if window.sized < at.min_spread:
        return
    rate = window.solved / window.episodes
    for name, num, words in (
        ("saturated", window.full, "have nothing left to learn: all siblings solved and paid alike"),
        ("floor", window.empty, "have nothing to learn from: no sibling solved and all paid alike"),
    ):
        share = num / window.sized
        yield Judgement(
            name,
            "",
            True if share >= at.saturation else False if share < at.relief * at.saturation else None,
            f"{share:.0%} of {window.sized} groups {words}",
            {"share": share, "groups": window.sized, "pass_rate": rate},
            window.best,
        )


def _stuck(subject: Subject, window: Block, is_whole: bool, at: Thresholds) -> Iterator[Judgement]:
    """Judge terms that stay at their worst end while others vary; a penalty at 0 is as it should be."""
    if window.varied < at.min_spread:
        return
    for index, name in enumerate(subject.terms):
        low, high = subject.ranges.get(name, (None, None))
        if low is None or low == high:
            continue
        is_at_low = window.high[index] - low <= 1e-9 * max(1.0, abs(low))
        yield Judgement(
            "stuck_term",
            name,
            (True if is_whole else None) if is_at_low else False,
            f"{name} was {low:g}, the least it can be, in all of {window.episodes} episodes while rewards differ",
            {"value": low, "episodes": window.episodes},
            window.best,
        )


def _same_answer(window: Block, at: Thresholds) -> Judgement:
    top = max(window.answers.values(), key=lambda answer: (answer.num, -answer.episode), default=None)
    num, tasks = (top.num, len(top.tasks)) if top is not None else (0, 0)
    share = num / window.given if window.given else 0.0
    paid = top.solved / num if top is not None and num else 0.0
    is_off = window.given > 0 and share < at.relief * at.same_answer
    return Judgement(
        "same_answer",
        "",
        True if share >= at.same_answer and tasks >= at.min_tasks else False if is_off else None,
        f"{share:.0%} of {window.given} answers are one and the same, given to {tasks} different tasks and solved "
        f"{paid:.0%} of the time",
        {"share": share, "answers": window.given, "tasks": tasks, "solved": paid},
        top.episode if top is not None else -1,
    )


def _same_siblings(window: Block, at: Thresholds) -> Judgement:
    share = window.equal / window.pairs if window.pairs else 0.0
    rate = window.solved / window.episodes
    is_enough = window.sized >= at.min_spread and window.pairs > 0
    is_on = is_enough and share >= at.same_siblings and rate <= _HALF
    is_off = is_enough and share < at.relief * at.same_siblings
    return Judgement(
        "same_siblings",
        "",
        True if is_on else False if is_off else None,
        f"{share:.0%} of pairs of siblings answer the same while {rate:.0%} are solved: nothing is tried",
        {"share": share, "pass_rate": rate, "groups": window.sized},
        window.best,
    )
