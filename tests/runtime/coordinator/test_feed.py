"""How far ahead tasks are drawn: an entry's part of some batches, and no more than its run wants."""

from typing import Any

import pytest
from coordinator_world import World, entry

from assay.runtime.coordinator import feed
from assay.runtime.coordinator.spec import StageSpec


@pytest.mark.parametrize(("share", "batch", "prefetch", "ahead"), [
    (0.005, 200, 128, 32), (0.08, 200, 128, 64), (0.5, 200, 128, 128), (0.5, 200, 16, 16)
])  # fmt: skip
def test_small_entry_draws_little_ahead(share: float, batch: int, prefetch: int, ahead: int, make: Any) -> None:
    world: World = make(prefetch=prefetch)
    assert ahead == feed.wanted(world.core.run, share, batch)


def test_rows_that_failed_are_replaced_and_the_others_keep_their_order(make: Any) -> None:
    world: World = make(entries=(entry("a"),), phases=(StageSpec("rl", "rl", batch=2, steps=3),))
    source = world.core.run.feed("a", "train")
    feed.draw(world.core.run, source, 8)
    before = list(source.ahead)
    source.failed |= set(before[:3])
    feed.draw(world.core.run, source, 8)
    assert before == list(source.ahead)[:8]
    assert 11 == len(source.ahead)
    assert not source.failed & set(list(source.ahead)[8:])


class Insisting:
    """Knows one row alone."""

    def pick(self, size: int, stats: Any, rng: Any) -> int:
        return 0


def test_sampler_that_insists_on_a_row_that_failed_gets_the_next_that_has_not(make: Any) -> None:
    world: World = make(entries=(entry("a", sampler=Insisting()),), phases=(StageSpec("rl", "rl", batch=2, steps=3),))
    source = world.core.run.feed("a", "train")
    source.failed |= {0, 1}
    source.quarantined |= {2}
    feed.draw(world.core.run, source, 2)
    assert [3, 3] == list(source.ahead)


def test_sampler_that_knows_no_failed_rows_picks_again(make: Any) -> None:
    class Counting:
        picks = iter(range(50))

        def pick(self, size: int, stats: Any, rng: Any) -> int:
            return (7 * next(self.picks)) % size

    world: World = make(entries=(entry("a", sampler=Counting()),), phases=(StageSpec("rl", "rl", batch=2, steps=3),))
    source = world.core.run.feed("a", "train")
    source.failed |= {0, 7}
    feed.draw(world.core.run, source, 2)
    assert [14, 21] == list(source.ahead)
