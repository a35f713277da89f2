"""The audit of one entry: verdicts in, alarms out.

Pure and clock-free. Groups are taken in the order they were planned, whatever the order they end in: one that ends
early waits for those before it. So the findings of a run depend on its verdicts alone, not on timing, batching, number
of workers or interruptions, and the fold over a ledger gives the alarms that its coordinator logged.

Memory is bounded: sums of at most `window` blocks, three numbers a series for `trend` blocks, and the folds of `wait`
groups that ended before one that was planned earlier. Who people never answer is passed over then: it counts in
nothing, should it end after all. Whoever keeps the ledger notes these, since a later fold cannot know how long they
were waited for.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from assay.runtime.audit.block import Block, Mean, Slope, rise, slope
from assay.runtime.audit.finding import FIRST_TERM, TOKENS, Judgement, Subject, judge_levels, judge_trend
from assay.runtime.audit.fold import GATE, Fold, Play
from assay.runtime.audit.threshold import Thresholds

# A trend moves slowly: it is looked at once in so many blocks.
TREND_STRIDE = 2


class Alarm(msgspec.Struct, frozen=True):
    """A finding that begins or is over.

    Attributes:
        is_on: It begins.
        group: Number of the last group of the look.
        judgement: What was found.
    """

    is_on: bool
    group: int
    judgement: Judgement


class TermRow(msgspec.Struct, frozen=True):
    """One term over the last window and the trend.

    Attributes:
        name: `section.name`, or `gate`.
        mean: Over groups.
        share: Of the variance within groups; None where nothing varies.
        run_share: The same over the whole run.
        rise: From the first group of the trend to the last; None before there is one.
        error: Standard error of `rise`.
        length: Mean correlation with tokens within groups; None where both differ in too few groups.
    """

    name: str
    mean: float
    share: float | None
    run_share: float | None
    rise: float | None
    error: float | None
    length: float | None


class Audit:
    """See the module.

    Args:
        subject: The entry; without terms they are those of the first verdict.
        thresholds: Windows and levels.

    Attributes:
        raised: What stands now, by finding and subject.
        total: Sums over the whole run, in whole blocks.
        passed: Groups that were passed over.
    """

    def __init__(self, subject: Subject, thresholds: Thresholds) -> None:
        self.subject, self.at = subject, thresholds
        self.raised: dict[tuple[str, str], Judgement] = {}
        self.total = self._block()
        self.passed: list[int] = []
        self._order: deque[int] = deque()
        self._ended: dict[int, Fold | None] = {}
        self._folds: list[Fold] = []
        self._blocks: deque[Block] = deque(maxlen=thresholds.window)
        self._slopes: deque[Slope] = deque(maxlen=thresholds.trend)
        self._num_blocks = 0

    def plan(self, group: int) -> None:
        """A training group was planned; numbers rise."""
        self._order.append(group)

    def end(self, group: int, task: int, plays: Sequence[Play]) -> list[Alarm]:
        """A group is verified.

        Args:
            group: Its number, as planned.
            task: Index of its row.
            plays: Scored siblings in order; unscored ones are not among them.

        Returns:
            What begins and what is over.
        """
        if plays and not self.subject.terms:
            self.subject = Subject(tuple(plays[0].terms))
            self.total = self._block()
        return self._take(group, Fold(self.subject.terms, group, task, plays) if plays else None)

    def skip(self, group: int) -> list[Alarm]:
        """A group was taken back before it was verified; one that was verified stays in."""
        return [] if group in self._ended else self._take(group, None)

    def pass_over(self, group: int) -> list[Alarm]:
        """A group was passed over when the ledger was written."""
        self.passed.append(group)
        return self._take(group, None)

    def _take(self, group: int, fold: Fold | None) -> list[Alarm]:
        if not self._order or group < self._order[0]:
            return []  # passed over, or in the sums
        self._ended[group] = fold
        return self._proceed() if self._order[0] == group or len(self._ended) > self.at.wait else []

    def _proceed(self) -> list[Alarm]:
        alarms: list[Alarm] = []
        order, ended = self._order, self._ended
        while order:
            if order[0] not in ended:
                if len(ended) <= self.at.wait:
                    break
                self.passed.append(order.popleft())
                continue
            fold = ended.pop(order.popleft())
            if fold is not None:
                self._folds.append(fold)
                if len(self._folds) == self.at.block:
                    alarms += self._look()
        return alarms

    def _look(self) -> list[Alarm]:
        folds, self._folds = self._folds, []
        block = self._block()
        for fold in folds:
            block.add(fold)
        penalties = self.subject.penalties
        block.close()
        series = []
        for fold in folds:
            penalty = sum([fold.means[FIRST_TERM + index] for index in penalties])
            series.append([*fold.means, sum(fold.means[FIRST_TERM:-1]) - penalty, penalty])
        self._blocks.append(block)
        self._slopes.append(slope(series))
        self._num_blocks += 1
        self.total.merge(block)
        self.total.close()
        group = folds[-1].number
        return [Alarm(self._turn(one), group, one) for one in self._judgements() if self._is_news(one)]

    def _judgements(self) -> Iterator[Judgement]:
        at = self.at
        if self._num_blocks < at.min_window:
            return
        window = self.window()
        yield from judge_levels(self.subject, window, len(self._blocks) == at.window, at)
        if self.subject.penalties and len(self._slopes) >= at.min_trend and self._num_blocks % TREND_STRIDE == 0:
            yield judge_trend(self._slopes, window, at)

    def _is_news(self, one: Judgement) -> bool:
        return one.is_on is not None and one.is_on != ((one.name, one.subject) in self.raised)

    def _turn(self, one: Judgement) -> bool:
        key = (one.name, one.subject)
        if one.is_on:
            self.raised[key] = one
            return True
        del self.raised[key]
        return False

    def window(self) -> Block:
        """Return the sums of the last blocks."""
        window = self._block()
        for block in self._blocks:
            window.merge(block)
        return window

    def rows(self) -> list[TermRow]:
        """Return each term, and the gate where one was closed, for people."""
        window = self.window()
        shares, run_shares, means = window.shares, self.total.shares, window.means
        rows = []
        for index, name in enumerate((*self.subject.terms, GATE)):
            is_gate = index == len(self.subject.terms)
            if is_gate and abs(self.total.totals[FIRST_TERM + index]) <= 1e-9 * max(1, self.total.groups):
                continue
            line = rise(self._slopes, self.at.block, FIRST_TERM + index) if self._slopes else None
            length = None if is_gate else self._told(window.term_length[index])
            rows.append(
                TermRow(
                    name,
                    means[FIRST_TERM + index],
                    None if shares is None else shares[index],
                    None if run_shares is None else run_shares[index],
                    None if line is None else line.value,
                    None if line is None else line.error,
                    length,
                )
            )
        return rows

    def figures(self) -> dict[str, Any]:
        """Return the figures of the last window that belong to no term."""
        window = self.window()
        line = rise(self._slopes, self.at.block, TOKENS) if self._slopes else None
        return {
            "groups": self.total.groups,
            "episodes": self.total.episodes,
            "passed_over": len(self.passed),
            "window_groups": window.groups,
            "trend_groups": len(self._slopes) * self.at.block,
            "pass_rate": window.solved / window.episodes if window.episodes else None,
            "groups_without_spread": 1 - window.varied / window.sized if window.sized else None,
            "tokens": window.means[TOKENS] if window.groups else None,
            "tokens_rise": None if line is None else line.value,
            "length": self._told(window.length),
            "length_groups": window.length.num,
            "same_siblings": window.equal / window.pairs if window.pairs else None,
        }

    def _told(self, mean: Mean) -> float | None:
        """Return a correlation where it is one of enough groups to say anything."""
        return mean.value if mean.num >= self.at.min_spread else None

    def _block(self) -> Block:
        return Block(len(self.subject.terms), self.subject.penalties)
