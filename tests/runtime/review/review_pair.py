"""Pairs of judgements, by how many of each kind."""

from assay.runtime.review.agreement import Pair


def pairs(both: int, neither: int, only_mark: int, only_other: int, weight: float = 1.0) -> list[Pair]:
    cells = (((True, True), both), ((False, False), neither), ((True, False), only_mark), ((False, True), only_other))
    return [Pair(mark, other, weight) for (mark, other), count in cells for _ in range(count)]
