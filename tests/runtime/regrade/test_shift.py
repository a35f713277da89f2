"""What new verdicts change, on rewards small enough to count by hand."""

import pytest

from assay.runtime.regrade.shift import Flip, Paid, shift


def centred(rewards: list[float]) -> list[float]:
    mean = sum(rewards) / len(rewards)
    return [reward - mean for reward in rewards]


def paid(*groups: list[tuple[float | None, float | None]]) -> list[Paid]:
    pairs = [(number, before, after) for number, group in enumerate(groups) for before, after in group]
    return [Paid(episode, number, before, after) for episode, (number, before, after) in enumerate(pairs)]


def test_equal_rewards_shift_nothing() -> None:
    found = shift(paid([(1.0, 1.0), (0.0, 0.0)]), centred)
    assert (0, 1, 0, 0) == (found.changed, found.groups, found.groups_reranked, found.num_flips)
    assert found.before == found.after


def test_pairs_are_swapped_tied_and_told_apart() -> None:
    found = shift(paid([(1.0, 0.0), (0.0, 1.0)], [(1.0, 0.5), (0.0, 0.5)], [(0.5, 1.0), (0.5, 0.0)]), centred)
    assert (3, 3, 1, 1, 1) == (
        found.pairs,
        found.groups_reranked,
        found.pairs_swapped,
        found.pairs_tied,
        found.pairs_parted,
    )
    assert (1, 1) == (found.groups_silenced, found.groups_voiced)


def test_scaled_rewards_flip_no_sign_and_no_rank() -> None:
    found = shift(paid([(1.0, 0.5), (0.0, 0.0), (0.4, 0.2)]), centred)
    assert (2, 0, 0) == (found.changed, found.groups_reranked, found.num_flips)


def test_flipped_advantages_are_named_the_largest_first() -> None:
    found = shift(paid([(1.0, 0.0), (0.0, 1.0)], [(4.0, 0.0), (0.0, 4.0)]), centred)
    assert 4 == found.num_flips
    assert [(2, 2.0, -2.0), (3, -2.0, 2.0)] == [(one.episode, one.before, one.after) for one in found.flips[:2]]
    assert isinstance(found.flips[0], Flip)


def test_unscored_counts_in_no_mean_and_no_pair() -> None:
    found = shift(paid([(1.0, 1.0), (None, 1.0), (0.0, None)]), centred)
    assert (2, 1, 0.5) == (found.before.scored, found.before.unscored, found.before.mean)
    assert (2, 1, 1.0) == (found.after.scored, found.after.unscored, found.after.mean)
    assert (0, 0, 2) == (found.groups, found.pairs, found.changed)


def test_distribution_is_that_of_the_rewards() -> None:
    found = shift(paid([(float(value), 0.0) for value in range(11)]), centred)
    assert (0.0, 1.0, 5.0, 9.0, 10.0) == found.before.quantiles
    assert (5.0, pytest.approx(10**0.5)) == (found.before.mean, found.before.deviation)
    assert (0.0,) * 5 == found.after.quantiles


def test_nothing_graded_has_no_distribution() -> None:
    found = shift([], centred)
    assert (0, None, ()) == (found.before.scored, found.before.mean, found.before.quantiles)
