"""What new verdicts change: the distribution of rewards, ranks inside groups, signs of advantages."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

QUANTILES = (0.0, 0.1, 0.5, 0.9, 1.0)
# A difference of rewards or advantages below this is none.
_TOLERANCE = 1e-9
_MAX_SHOWN = 10


class Spread(msgspec.Struct, frozen=True):
    """Rewards of scored episodes; every figure is None where there are none.

    Attributes:
        scored: Episodes with a reward.
        unscored: Episodes without one, which count in nothing else.
        mean: Of the rewards.
        deviation: Standard deviation, divided by n.
        quantiles: At `QUANTILES`; each is a reward that occurred.
        success: Share of successes.
    """

    scored: int
    unscored: int
    mean: float | None = None
    deviation: float | None = None
    quantiles: tuple[float, ...] = ()
    success: float | None = None


class Flip(msgspec.Struct, frozen=True):
    """An episode whose advantage has changed its sign."""

    episode: int
    group: int
    before: float
    after: float


class Shift(msgspec.Struct, frozen=True):
    """Before and after, of one entry.

    Attributes:
        before: Rewards as they were trained on.
        after: Rewards under the edit.
        changed: Episodes whose reward is another one, or is there where it was not, or the reverse.
        groups: Groups with at least two siblings scored both before and after.
        groups_reranked: Those with a pair of siblings in another order.
        pairs: Pairs of siblings in those groups.
        pairs_swapped: The better one has become the worse one.
        pairs_tied: A difference has become none.
        pairs_parted: Equal rewards have become different.
        flips: Advantages from above 0 to below, or the reverse; the largest first.
        num_flips: How many there are.
        groups_silenced: Groups that had something to learn from and have nothing now.
        groups_voiced: The reverse.
    """

    before: Spread
    after: Spread
    changed: int
    groups: int
    groups_reranked: int
    pairs: int
    pairs_swapped: int
    pairs_tied: int
    pairs_parted: int
    flips: tuple[Flip, ...]
    num_flips: int
    groups_silenced: int
    groups_voiced: int

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


class Paid(msgspec.Struct, frozen=True, array_like=True):
    """One episode before and after; None where unscored."""

    episode: int
    group: int
    before: float | None
    after: float | None
    success_before: bool = False
    success_after: bool = False


def shift(paid: Sequence[Paid], to_advantages: Callable[[list[float]], list[float]]) -> Shift:
    """Compare rewards before and after.

    Args:
        paid: Episodes with a verdict that stays comparable; those that would have to be played again are left out.
        to_advantages: From the rewards of one group to its advantages.
    """
    groups: dict[int, list[Paid]] = {}
    for one in paid:
        if one.before is not None and one.after is not None:
            groups.setdefault(one.group, []).append(one)
    counts: dict[str, int] = dict.fromkeys(
        ("swapped", "tied", "parted", "pairs", "reranked", "silenced", "voiced", "groups"), 0
    )
    flips: list[Flip] = []
    for number, siblings in groups.items():
        if len(siblings) < 2:
            continue
        counts["groups"] += 1
        found = _pairs(siblings)
        counts["reranked"] += any(found[kind] for kind in ("swapped", "tied", "parted"))
        for kind, count in found.items():
            counts[kind] += count
        old = to_advantages([one.before for one in siblings if one.before is not None])
        new = to_advantages([one.after for one in siblings if one.after is not None])
        had, has = any(abs(a) > _TOLERANCE for a in old), any(abs(a) > _TOLERANCE for a in new)
        counts["silenced"] += had and not has
        counts["voiced"] += has and not had
        flips += [
            Flip(one.episode, number, a, b)
            for one, a, b in zip(siblings, old, new, strict=True)
            if min(a, b) < -_TOLERANCE and max(a, b) > _TOLERANCE
        ]
    flips.sort(key=lambda flip: -abs(flip.after - flip.before))
    return Shift(
        before=_spread([(one.before, one.success_before) for one in paid]),
        after=_spread([(one.after, one.success_after) for one in paid]),
        changed=sum(_differs(one.before, one.after) for one in paid),
        groups=counts["groups"],
        groups_reranked=counts["reranked"],
        pairs=counts["pairs"],
        pairs_swapped=counts["swapped"],
        pairs_tied=counts["tied"],
        pairs_parted=counts["parted"],
        flips=tuple(flips[:_MAX_SHOWN]),
        num_flips=len(flips),
        groups_silenced=counts["silenced"],
        groups_voiced=counts["voiced"],
    )


def _pairs(siblings: Sequence[Paid]) -> Mapping[str, int]:
    counts = {"pairs": 0, "swapped": 0, "tied": 0, "parted": 0}
    for index, one in enumerate(siblings):
        for other in siblings[:index]:
            assert one.before is not None and other.before is not None
            assert one.after is not None and other.after is not None
            was, now = _sign(one.before - other.before), _sign(one.after - other.after)
            counts["pairs"] += 1
            counts["swapped"] += was * now < 0
            counts["tied"] += was != 0 == now
            counts["parted"] += was == 0 != now
    return counts


def _spread(rewards: Sequence[tuple[float | None, bool]]) -> Spread:
    known = [(reward, success) for reward, success in rewards if reward is not None]
    if not known:
        return Spread(0, len(rewards))
    values = sorted(reward for reward, _ in known)
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    quantiles = tuple(values[round(q * (len(values) - 1))] for q in QUANTILES)
    success = sum(success for _, success in known) / len(known)
    return Spread(len(known), len(rewards) - len(known), mean, deviation, quantiles, success)


def _differs(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is not after
    return _sign(before - after) != 0


def _sign(value: float) -> int:
    return 0 if abs(value) <= _TOLERANCE else 1 if value > 0 else -1
