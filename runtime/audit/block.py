"""Blocks: sums over some groups in a row. A window is a few of them, so that a look costs the same however long it is.

A trend is a straight line through the groups of a row of blocks, by least squares, with the standard error of its rise.
"""

from collections.abc import Iterable, Sequence
from math import inf, sqrt
from typing import NamedTuple

from assay.runtime.audit.fold import Fold

# Answers that a block remembers: one that makes most of a window is among the first of each block.
KEPT_ANSWERS = 8


class Mean:
    """A mean with the number and the size of what went in.

    Attributes:
        num: Values.
        total: Their sum.
        square: Sum of their squares.
    """

    __slots__ = ("num", "square", "total")

    def __init__(self) -> None:
        self.num, self.total, self.square = 0, 0.0, 0.0

    def add(self, value: float) -> None:
        """Take in a value."""
        self.num += 1
        self.total += value
        self.square += value * value

    def merge(self, other: "Mean") -> None:
        """Take in all values of another."""
        self.num += other.num
        self.total += other.total
        self.square += other.square

    @property
    def value(self) -> float:
        """The mean; 0 of nothing."""
        return self.total / self.num if self.num else 0.0

    @property
    def noise(self) -> float:
        """How many standard errors the sum lies from 0, were each value as likely to have the other sign."""
        return abs(self.total) / sqrt(self.square) if self.square else 0.0


class Answer:
    """One answer in some groups.

    Attributes:
        num: Times given.
        solved: Times it was a success.
        tasks: Rows it was given to.
        episode: One that gave it.
    """

    __slots__ = ("episode", "num", "solved", "tasks")

    def __init__(self, episode: int) -> None:
        self.num, self.solved, self.episode = 0, 0, episode
        self.tasks: set[int] = set()


class Block:
    """Sums over groups.

    Args:
        num_terms: Terms of the entry.
        penalties: Which of them are of `process` or `efficiency`.

    Attributes:
        groups: Taken in.
        episodes: Taken in.
        solved: Of them.
        sized: Groups of two or more.
        varied: Groups whose rewards differ.
        full: Groups without spread, all solved.
        empty: Groups without spread, none solved.
        spread: Sum of squares within groups.
        freedom: Episodes less groups, among `varied`.
        pulls: Of each term and the gate.
        tilt: Per group, pull of the penalties less that of the outcome.
        length: Correlations of reward with tokens.
        turns: The same with turns.
        term_length: Correlations of each term with tokens.
        totals: Sums of `Fold.means`, then of outcome and penalties.
        low: Smallest value of each term.
        high: Largest.
        given: Answers, and `answers` the most frequent.
        pairs: Pairs of siblings with an answer, and `equal` of them.
        best: Number of the episode to look at, of the group that is most telling.
    """

    def __init__(self, num_terms: int, penalties: Sequence[int]) -> None:
        self.penalties = penalties
        self.groups = self.episodes = self.solved = self.sized = self.varied = self.full = self.empty = 0
        self.spread, self.freedom = 0.0, 0
        self.pulls = [0.0] * (num_terms + 1)
        self.tilt, self.length, self.turns = Mean(), Mean(), Mean()
        self.term_length = [Mean() for _ in range(num_terms)]
        self.totals = [0.0] * (num_terms + 6)
        self.low, self.high = [inf] * num_terms, [-inf] * num_terms
        self.given = self.pairs = self.equal = 0
        self.answers: dict[int, Answer] = {}
        self.best, self.best_length, self._longest = -1, -1, 0.0

    def add(self, fold: Fold) -> None:
        """Take in a group."""
        self.groups += 1
        self.episodes += fold.size
        self.solved += fold.solved
        penalty = sum([fold.means[3 + index] for index in self.penalties])
        outcome = sum(fold.means[3:-1]) - penalty
        self.totals = [a + b for a, b in zip(self.totals, [*fold.means, outcome, penalty], strict=True)]
        self.low = list(map(min, self.low, fold.low))
        self.high = list(map(max, self.high, fold.high))
        self.best = fold.best
        if fold.answers:
            self._answered(fold)
        if fold.size < 2:
            return
        self.sized += 1
        if not fold.pulls:
            self.full += fold.solved == fold.size
            self.empty += fold.solved == 0
            return
        self.varied += 1
        self.spread += fold.spread
        self.freedom += fold.size - 1
        self.pulls = [a + b for a, b in zip(self.pulls, fold.pulls, strict=True)]
        if self.penalties:
            pull = sum([fold.pulls[index] for index in self.penalties])
            self.tilt.add(2 * pull - sum(fold.pulls[:-1]))
        if fold.by_length is not None:
            self.length.add(fold.by_length)
            for mean, value in zip(self.term_length, fold.term_by_length, strict=True):
                if value is not None:
                    mean.add(value)
            if abs(fold.by_length) > self._longest:
                self._longest, self.best_length = abs(fold.by_length), fold.best
        if fold.by_turns is not None:
            self.turns.add(fold.by_turns)

    def _answered(self, fold: Fold) -> None:
        given = 0
        for digest, (num, solved, episode) in fold.answers.items():
            answer = self.answers.get(digest)
            if answer is None:
                answer = self.answers[digest] = Answer(episode)
            answer.num += num
            answer.solved += solved
            answer.tasks.add(fold.task)
            given += num
            self.equal += num * (num - 1) // 2
        self.given += given
        self.pairs += given * (given - 1) // 2

    def close(self) -> None:
        """Keep the most frequent answers alone."""
        if len(self.answers) > KEPT_ANSWERS:
            kept = sorted(self.answers, key=lambda digest: (-self.answers[digest].num, digest))[:KEPT_ANSWERS]
            self.answers = {digest: self.answers[digest] for digest in kept}

    def merge(self, other: "Block") -> None:
        """Take in another block, which stays as it is."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("pulls", "totals"):
            setattr(self, name, [a + b for a, b in zip(getattr(self, name), getattr(other, name), strict=True)])
        self.low, self.high = list(map(min, self.low, other.low)), list(map(max, self.high, other.high))
        self.tilt.merge(other.tilt)
        self.length.merge(other.length)
        self.turns.merge(other.turns)
        for mean, added in zip(self.term_length, other.term_length, strict=True):
            mean.merge(added)
        for digest, its in other.answers.items():
            answer = self.answers.get(digest)
            if answer is None:
                answer = self.answers[digest] = Answer(its.episode)
            answer.num += its.num
            answer.solved += its.solved
            answer.tasks |= its.tasks
        self.best = other.best
        if other._longest >= self._longest:
            self._longest, self.best_length = other._longest, other.best_length

    @property
    def means(self) -> list[float]:
        """Mean over groups of each of `totals`."""
        return [total / self.groups for total in self.totals] if self.groups else list(self.totals)

    @property
    def deviation(self) -> float:
        """Standard deviation of the reward within groups whose rewards differ."""
        return sqrt(self.spread / self.freedom) if self.freedom else 0.0

    @property
    def shares(self) -> list[float] | None:
        """Share of each term and the gate in the variance within groups; None where nothing varies."""
        return [pull / self.spread for pull in self.pulls] if self.spread else None


_SUMS = (
    *("groups", "episodes", "solved", "sized", "varied", "full", "empty", "spread", "freedom"),
    *("given", "pairs", "equal"),
)


class Slope(NamedTuple):
    """Sums over the groups of one block for lines through many: of y, of y by its place in the block, of y squared."""

    total: list[float]
    placed: list[float]
    square: list[float]


def slope(series: Sequence[Sequence[float]]) -> Slope:
    """Return the sums of a block.

    Args:
        series: One row of values per group, in order.
    """
    columns = list(zip(*series, strict=True))
    return Slope(
        [sum(column) for column in columns],
        [sum([place * value for place, value in enumerate(column)]) for column in columns],
        [sum([value * value for value in column]) for column in columns],
    )


class Rise(NamedTuple):
    """How much a line rises from its first group to its last, and the standard error of that."""

    value: float
    error: float


def rise(slopes: Iterable[Slope], size: int, which: int) -> Rise:
    """Return the rise of one series.

    Args:
        slopes: Of blocks in a row.
        size: Groups of each block.
        which: Index of the series.
    """
    num, total, placed, square = 0, 0.0, 0.0, 0.0
    for part in slopes:
        placed += num * part.total[which] + part.placed[which]
        total += part.total[which]
        square += part.square[which]
        num += size
    if num < 3:
        return Rise(0.0, inf)
    across = num * (num * num - 1) / 12
    along = placed - (num - 1) / 2 * total
    left = max(0.0, square - total * total / num - along * along / across)
    return Rise(along / across * (num - 1), sqrt(left / (num - 2) / across) * (num - 1))
