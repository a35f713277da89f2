"""Figures of agreement against values worked out by hand."""

import pytest
from review_pair import pairs

from assay.runtime.review.agreement import agree, cohen_kappa, effective_size, weigh, wilson


def test_kappa_of_a_textbook_table() -> None:
    # 20 and 15 agree of 50; p_o 0.7, p_e 0.5*0.6 + 0.5*0.4 = 0.5, kappa 0.2 / 0.5.
    assert cohen_kappa(20, 15, 5, 10) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("cells", "kappa"),
    [((5, 5, 0, 0), 1.0), ((0, 0, 5, 5), -1.0), ((9, 1, 9, 1), 0.0), ((7, 0, 0, 0), None), ((0, 0, 0, 0), None)],
)
def test_kappa_at_its_ends(cells: tuple[int, int, int, int], kappa: float | None) -> None:
    assert cohen_kappa(*cells) == (None if kappa is None else pytest.approx(kappa))


def test_interval_of_wilson() -> None:
    # 8 of 10 with z = 1.96: centre (0.8 + 0.19208) / 1.38416, reach 1.96 * sqrt(0.016 + 0.009604) / 1.38416.
    low, high = wilson(0.8, 10, 1.96)
    assert (low, high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))
    assert (0.0, pytest.approx(0.2775, abs=1e-4)) == wilson(0.0, 10)
    assert (0.0, 1.0) == wilson(0.5, 0)


def test_unequal_weights_are_worth_fewer_observations() -> None:
    assert effective_size([1.0] * 10) == pytest.approx(10.0)
    # (50 + 100)^2 / (50 + 200)
    assert effective_size([1.0] * 50 + [2.0] * 50) == pytest.approx(90.0)


def test_stratum_that_was_sampled_more_than_its_part_is_weighed_down() -> None:
    # A run of 900 successes and 100 failures; ten of each are marked: all successes hold, half of the failures do.
    weights = weigh({"success": 10, "failure": 10}, {"success": 900, "failure": 100})
    assert {"success": 90.0, "failure": 10.0} == weights
    found = agree([*pairs(10, 0, 0, 0, 90.0), *pairs(0, 5, 5, 0, 10.0)])
    assert (15, 20, pytest.approx(0.75)) == (found.both + found.neither, found.marks, found.raw)
    assert found.share == pytest.approx(0.95)
    # Of the weighted table 900, 50, 50, 0: p_o 0.95, p_e 0.95*0.9 + 0.05*0.1 = 0.86.
    assert found.kappa == pytest.approx(0.09 / 0.14)
    assert found.interval[0] < 0.95 < found.interval[1]


def test_what_was_picked_counts_in_raw_figures_alone() -> None:
    found = agree(pairs(4, 4, 0, 0), pairs(0, 0, 4, 0))
    assert (pytest.approx(8 / 12), pytest.approx(1.0), 4) == (found.raw, found.share, found.only_mark)
    nothing = agree([], pairs(1, 1, 0, 0))
    assert (None, None, (0.0, 1.0)) == (nothing.share, nothing.kappa, nothing.interval)
