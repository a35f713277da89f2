"""Every clause of the contract of trackers turns red for a tracker that breaks it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from red import breaks
from wrong_teller import Buffering, Dull, Eager, Fresh, Narrow, Repeating, Stateless, told

from assay.runtime.testing.tracker import TrackerContract

RED = [
    ("test_making_it_opens_nothing", Eager, "making a tracker must open nothing"),
    ("test_everything_arrives_in_order_and_once", Repeating, "the steps "),
    ("test_a_step_made_again_in_another_lineage_arrives_too", Dull, "the steps "),
    ("test_whatever_the_figures_are_the_rest_arrives", Narrow, "the steps "),
    ("test_a_run_that_is_resumed_goes_on", Fresh, "start must say where to go on"),
    ("test_after_a_kill_nothing_is_missing_and_nothing_stands_twice", Buffering, "the "),
    ("test_after_a_kill_nothing_is_missing_and_nothing_stands_twice", Stateless, "the "),
]


@pytest.mark.parametrize(("clause", "wrong", "must"), RED, ids=[one[1].__name__ for one in RED])
def test_wrong_tracker_breaks_its_clause(
    clause: str, wrong: type, must: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert breaks(TrackerContract, clause, wrong, told=told).startswith(must)


def test_tracker_that_says_it_is_not_exact_may_repeat_what_was_not_flushed() -> None:
    from red import keeps

    keeps(TrackerContract, "test_after_a_kill_nothing_is_missing_and_nothing_stands_twice", Stateless, told=told,
          is_exact=False)  # fmt: skip
