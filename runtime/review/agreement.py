"""How well two judgements of the same episodes agree: raw, with an interval, and beyond chance.

Strata that were sampled more than their part of the run are weighed down again: a mark of a stratum counts as
N / n, its episodes in the run over its marks. Weighted figures estimate the whole run; raw ones say what was seen.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

Z = 1.959963984540054
"""Standard normal quantile of a two-sided interval of 95 %."""


class Pair(msgspec.Struct, frozen=True, array_like=True):
    """Two judgements of one episode; `weight` is the number of episodes it stands for."""

    mark: bool
    other: bool
    weight: float = 1.0


class Agreement(msgspec.Struct, frozen=True):
    """Of marks with something else.

    Attributes:
        marks: Episodes with both.
        both: Marked good, and good for the other.
        neither: Marked bad, and bad for the other.
        only_mark: Marked good, bad for the other: it is too strict.
        only_other: Marked bad, good for the other: it is too lenient.
        raw: Share of agreement among what was marked.
        raw_interval: Of 95 %.
        share: The same, weighted: an estimate for the run; None where no mark is of a random sample.
        interval: Of 95 %.
        kappa: Agreement beyond chance, weighted like `share`; None where one side always says the same.
    """

    marks: int
    both: int
    neither: int
    only_mark: int
    only_other: int
    raw: float | None
    raw_interval: tuple[float, float]
    share: float | None
    interval: tuple[float, float]
    kappa: float | None

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def wilson(share: float, size: float, z: float = Z) -> tuple[float, float]:
    """Return the interval of a share.

    (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)

    Args:
        share: Observed, in [0, 1].
        size: Observations, or their effective number; 0 gives [0, 1].
        z: Standard normal quantile.

    Source: Wilson 1927, Probable inference, the law of succession, and statistical inference, JASA 22, 209-212.
    """
    if size <= 0:
        return 0.0, 1.0
    centre = share + z * z / (2 * size)
    reach = z * math.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    scale = 1 + z * z / size
    return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)


def effective_size(weights: Iterable[float]) -> float:
    """Return how many equally weighted observations these are worth: (sum w)^2 / sum w^2.

    Source: Kish 1992, Weighting for unequal P_i, Journal of Official Statistics 8, 183-200.
    """
    weights = list(weights)
    squares = math.fsum(weight * weight for weight in weights)
    return math.fsum(weights) ** 2 / squares if squares else 0.0


def cohen_kappa(both: float, neither: float, only_mark: float, only_other: float) -> float | None:
    """Return (p_o - p_e) / (1 - p_e) of a table of two by two; None where chance alone would agree always.

    p_o is the share of agreement, p_e what the margins alone would give.

    Source: Cohen 1960, A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20,
    37-46.
    """
    total = both + neither + only_mark + only_other
    if total <= 0:
        return None
    observed = (both + neither) / total
    mark, other = (both + only_mark) / total, (both + only_other) / total
    chance = mark * other + (1 - mark) * (1 - other)
    return None if math.isclose(chance, 1.0) else (observed - chance) / (1 - chance)


def agree(sampled: Sequence[Pair], picked: Sequence[Pair] = ()) -> Agreement:
    """Return the agreement of marks.

    Args:
        sampled: Of a random sample, with weights.
        picked: Marked for another reason; they count in raw figures alone.
    """
    everything = [*sampled, *picked]
    cells = _cells(everything, lambda pair: 1.0)
    size = len(everything)
    raw = (cells[True, True] + cells[False, False]) / size if size else None
    weighted = _cells(sampled, lambda pair: pair.weight)
    total = math.fsum(weighted.values())
    share = (weighted[True, True] + weighted[False, False]) / total if total > 0 else None
    worth = effective_size(pair.weight for pair in sampled)
    return Agreement(
        size,
        int(cells[True, True]),
        int(cells[False, False]),
        int(cells[True, False]),
        int(cells[False, True]),
        raw,
        wilson(raw or 0.0, size),
        share,
        wilson(share or 0.0, worth),
        cohen_kappa(weighted[True, True], weighted[False, False], weighted[True, False], weighted[False, True]),
    )


def weigh(marked: Mapping[str, int], population: Mapping[str, int]) -> dict[str, float]:
    """Return the weight of a mark by stratum: episodes of the run over marks."""
    return {stratum: population.get(stratum, 0) / count for stratum, count in marked.items() if count}


def _cells(pairs: Sequence[Pair], weight: Any) -> dict[tuple[bool, bool], float]:
    cells = {(mark, other): 0.0 for mark in (True, False) for other in (True, False)}
    for pair in pairs:
        cells[pair.mark, pair.other] += weight(pair)
    return cells
