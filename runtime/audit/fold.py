"""One group of siblings as the audit sees it: means, and what makes their rewards differ.

The advantage sees rewards within a group alone, so that is where shares and correlations are taken. With r the rewards
and t the values of one term, centred inside the group,

    pull_t = sum_i (t_i - mean t)(r_i - mean r),   sum over terms of pull_t = sum_i (r_i - mean r)^2 = spread.

So shares of pulls sum to 1; one is negative where its term works against the others. What a closed gate pays is no term
and stands as one of its own, `gate`.
"""

from collections.abc import Mapping, Sequence
from math import sqrt
from operator import mul
from typing import Protocol

GATE = "gate"
# Rewards closer than this are equal: sums of terms are rounded.
EQUAL = 1e-9


class Play(Protocol):
    """A scored training episode; the coordinator's own have these names too.

    Attributes:
        number: In the ledger.
        reward: As trained.
        success: Whether it counts as solved.
        terms: Value by `section.name`.
        tokens: Sampled.
        turns: Completions sampled.
        is_truncated: A limit ended it.
        answer: 63-bit digest of the answer; 0 where there is none.
    """

    @property
    def number(self) -> int: ...
    @property
    def reward(self) -> float | None: ...
    @property
    def success(self) -> bool: ...
    @property
    def terms(self) -> Mapping[str, float]: ...
    @property
    def tokens(self) -> int: ...
    @property
    def turns(self) -> int: ...
    @property
    def is_truncated(self) -> bool: ...
    @property
    def answer(self) -> int: ...


class Fold:
    """The sums of one group; small, and all that is kept of it.

    Args:
        names: Terms, in one order for all groups of an entry.
        task: Index of the row.
        plays: Scored siblings in order; at least one.

    Attributes:
        means: Reward, success, tokens, then each term and the gate.
        low: Smallest value of each term.
        high: Largest.
        spread: Sum of squares of the centred rewards; 0 where they are equal or there is but one.
        pulls: Of each term and the gate; empty where `spread` is 0.
        by_length: Correlation of reward with tokens; below 0 only among siblings that no limit ended. None where either
            is equal.
        by_turns: The same with turns.
        term_by_length: Correlation of each term with tokens.
        answers: Times given, times solved, and an episode, by digest.
        best: Episode with the highest reward, the longest of them.
    """

    __slots__ = (
        "answers",
        "best",
        "by_length",
        "by_turns",
        "high",
        "low",
        "means",
        "number",
        "pulls",
        "size",
        "solved",
        "spread",
        "task",
        "term_by_length",
    )

    def __init__(self, names: Sequence[str], number: int, task: int, plays: Sequence[Play]) -> None:
        size = len(plays)
        rewards = [play.reward or 0.0 for play in plays]
        tokens = [play.tokens for play in plays]
        columns = [[play.terms.get(name, 0.0) for play in plays] for name in names]
        reward, top = sum(rewards) / size, max(rewards)
        means = [sum(column) / size for column in columns]
        self.number, self.task, self.size = number, task, size
        self.solved = [play.success for play in plays].count(True)
        self.means = [reward, self.solved / size, sum(tokens) / size, *means, reward - sum(means)]
        self.low, self.high = list(map(min, columns)), list(map(max, columns))
        self.spread = 0.0
        self.pulls: Sequence[float] = ()
        self.by_length: float | None = None
        self.by_turns: float | None = None
        self.term_by_length: Sequence[float | None] = ()
        self.answers: Mapping[int, list[int]] = _answers(plays)
        self.best = plays[rewards.index(top)].number
        if top - min(rewards) <= EQUAL:
            return
        centred = [value - reward for value in rewards]
        self.spread = sum(map(mul, centred, centred))
        pulls = [sum(map(mul, centred, column)) for column in columns]
        self.pulls = [*pulls, self.spread - sum(pulls)]
        turns = [play.turns for play in plays]
        if min(turns) != max(turns):
            self.by_turns = correlation(rewards, turns)
        if min(tokens) == max(tokens):
            return
        sign = correlation(rewards, tokens)
        counted = plays
        if sign is not None and sign < 0 and True in [play.is_truncated for play in plays]:
            # Who rambles on until a limit ends it, and fails, does not show that brevity is paid.
            counted = [play for play in plays if not play.is_truncated]
            if len(counted) < 2:
                return
            tokens = [play.tokens for play in counted]
            columns = [[play.terms.get(name, 0.0) for play in counted] for name in names]
            sign = correlation([play.reward or 0.0 for play in counted], tokens)
        if sign is not None:
            self.by_length = sign
            # The episode that shows best what the correlation says: highest paid, and the longest or shortest of those.
            self.best = max(counted, key=lambda play: (play.reward or 0.0, play.tokens * sign)).number
            # One term and no gate: it is the reward.
            is_alone = len(columns) == 1 and abs(self.pulls[-1]) <= EQUAL
            self.term_by_length = [sign] if is_alone else [correlation(column, tokens) for column in columns]


def _answers(plays: Sequence[Play]) -> dict[int, list[int]]:
    """Return times given, times solved and an episode, by digest."""
    answers: dict[int, list[int]] = {}
    for play in plays:
        digest = play.answer
        if digest in answers:
            given = answers[digest]
            given[0] += 1
            given[1] += play.success
        elif digest:
            answers[digest] = [1, int(play.success), play.number]
    return answers


def correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Return Pearson's correlation; None where one side does not vary.

    Args:
        left: Values, shape (N,).
        right: Values, shape (N,).
    """
    size = len(left)
    if max(left) - min(left) <= EQUAL or max(right) - min(right) <= EQUAL:
        return None
    at, to = sum(left) / size, sum(right) / size
    left, right = [value - at for value in left], [value - to for value in right]
    bound = sqrt(sum(map(mul, left, left)) * sum(map(mul, right, right)))
    return max(-1.0, min(1.0, sum(map(mul, left, right)) / bound))
