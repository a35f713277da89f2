"""Algorithms: from scored groups to advantages and a loss."""

from collections.abc import Sequence
from typing import Protocol


class Algorithm(Protocol):
    """One algorithm; what `assay_algorithms` offers.

    Attributes:
        name: Unique among installed algorithms.
        loss_options: What its loss reads, with defaults, such as clip ranges.
    """

    name: str
    loss_options: dict[str, float]

    def advantages(self, groups: Sequence[tuple[str, Sequence[float]]]) -> list[list[float]]:
        """Return one advantage per sibling.

        Args:
            groups: Name of the mix entry and rewards of the scored siblings, per group.

        Raises:
            GroupError: fewer than 2 siblings, or a reward that is not finite.
        """
        ...
