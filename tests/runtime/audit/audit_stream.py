"""Made-up streams of groups: what a policy does, without one."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from assay.runtime.audit.finding import Subject
from assay.runtime.audit.stream import Alarm, Audit
from assay.runtime.audit.threshold import Thresholds

SMALL = Thresholds(block=8, min_window=4, min_trend=16)
RIGHT = "outcome.right"


@dataclass
class Play:
    number: int
    reward: float
    success: bool
    terms: dict[str, float]
    tokens: int = 20
    turns: int = 1
    is_truncated: bool = False
    answer: int = 0


@dataclass
class Made:
    """What one sibling does."""

    terms: dict[str, float]
    tokens: int = 20
    turns: int = 1
    is_truncated: bool = False
    answer: int = 0
    gate: float | None = None
    success: bool | None = None


# From the group's number and the dice to one sibling.
Policy = Callable[[int, random.Random], Made]


def play(number: int, made: Made) -> Play:
    terms = dict.fromkeys(made.terms, 0.0) if made.gate is not None else made.terms
    reward = made.gate if made.gate is not None else sum(terms.values())
    success = terms.get(RIGHT, 0.0) >= 1.0 if made.success is None else made.success
    return Play(number, reward, success, terms, made.tokens, made.turns, made.is_truncated, made.answer)


def groups(policy: Policy, num: int, *, size: int = 8, seed: int = 0) -> list[list[Play]]:
    dice = random.Random(seed)
    return [[play(size * group + index, policy(group, dice)) for index in range(size)] for group in range(num)]


def audit(terms: Sequence[str] = (RIGHT,), at: Thresholds = SMALL, **ranges: tuple[float, float]) -> Audit:
    named = {f"outcome.{name}": ends for name, ends in ranges.items()}
    return Audit(Subject(tuple(terms), {RIGHT: (0.0, 1.0), **named}), at)


def feed(one: Audit, stream: Iterable[Sequence[Play]], num_tasks: int = 10_000) -> list[Alarm]:
    alarms: list[Alarm] = []
    for number, plays in enumerate(stream):
        one.plan(number)
        alarms += one.end(number, number % num_tasks, plays)
    return alarms


def told(alarms: Iterable[Alarm]) -> list[str]:
    """Return the alarms as words: `+length` begins, `-length` is over."""
    words = []
    for alarm in alarms:
        subject = f" {alarm.judgement.subject}" if alarm.judgement.subject else ""
        words.append(f"{'+' if alarm.is_on else '-'}{alarm.judgement.name}{subject}")
    return words


@cache
def difficulty(group: int) -> float:
    """Return how often a task is solved."""
    return random.Random(group).betavariate(1.5, 1.5)


def honest(group: int, dice: random.Random) -> Made:
    """A policy that solves some tasks, of changing difficulty, and whose length means nothing."""
    right = float(dice.random() < difficulty(group))
    return Made({RIGHT: right}, tokens=max(1, int(dice.lognormvariate(4, 0.5))), answer=dice.getrandbits(60) | 1)
