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
