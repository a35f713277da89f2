"""A whole graph in one process: what bad rows and bad verifiers do to it, and that they are counted."""

import json
from collections.abc import Callable

import pytest

from assay.runtime.coordinator.instruction import Finish
from assay.runtime.observe.reading import Accuracy, Reading
from assay.runtime.run.folder import RunFolder

pytestmark = pytest.mark.slow

Play = Callable[..., tuple[Finish, RunFolder]]


def test_good_domain_is_played_and_scored(play: Play) -> None:
    finish, folder = play()
    assert Finish(0, "finished") == finish
    with Reading(folder.ledger) as reading:
        assert {"after": {"hazard": Accuracy(4, 4)}} == reading.accuracies()
        counts = reading.counts()
        assert (4, 4, 0, {}) == (counts.submitted, counts.evaluated, counts.in_flight, counts.dropped)


@pytest.mark.parametrize(
    ("verifier", "cause", "word"),
    [
        ("hazard.raises", "verifier_fault", "nobody can read this answer"),
        ("hazard.nan", "verifier_fault", "finite"),
        ("hazard.outside", "verifier_fault", "7.0"),
        ("hazard.hangs", "verifier_timeout", "no result after 0.3 s"),
    ],
)
def test_faulty_verifier_leaves_episodes_unscored_and_is_named(
    play: Play, verifier: str, cause: str, word: str
) -> None:
    finish, folder = play(verifier)
    assert Finish(0, "finished") == finish
    with Reading(folder.ledger) as reading:
        assert {cause: 4} == reading.unscored()
        # Unscored is never zero: it is in no mean, and the domain has no accuracy at all.
        assert {"hazard": Accuracy(0, 0)} == reading.accuracies()["after"]
        _, verdict = reading.first_verdict()
    assert word in verdict
    assert f"{verifier} v1 of assay-hazard 1.0" in verdict
    assert "payout" not in json.dumps(json.loads(verdict))


def test_row_that_cannot_be_read_is_counted_and_the_rest_is_played(play: Play) -> None:
    finish, folder = play(source="hazard.rows(broken=2)")
    assert Finish(0, "finished") == finish
    with Reading(folder.ledger) as reading:
        (row,) = reading.failed_rows()
        assert ("hazard", "eval", 2, "bad_row", "OSError: the disk has a hole here") == row
        assert {"after": {"hazard": Accuracy(3, 3)}} == reading.accuracies()


def test_row_that_does_not_fit_is_counted_and_the_rest_is_played(play: Play) -> None:
    finish, folder = play(source="hazard.misfit()")
    assert Finish(0, "finished") == finish
    with Reading(folder.ledger) as reading:
        (row,) = reading.failed_rows()
        assert ("hazard", "eval", 1, "bad_row") == row[:4]
        assert "`expected` must be str, got 3" in row[4]
        assert {"after": {"hazard": Accuracy(3, 3)}} == reading.accuracies()
