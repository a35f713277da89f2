"""Credits, staleness, shares and the batches of a run."""

from typing import Any

import pytest
from coordinator_world import entry, settle

from assay.core.array import Array
from assay.core.trajectory import WeightVersion
from assay.core.wire import (
    Commit,
)
from assay.runtime.coordinator.spec import StageSpec, TierSpec


@pytest.mark.parametrize("staleness", [0, 1, 3])
def test_no_trained_token_is_staler_than_the_bound(make: Any, staleness: int) -> None:
    world = make(phases=(StageSpec("rl", "rl", batch=2, steps=8, max_staleness=staleness),))
    world.go()
    for number, batch in world.batches.items():
        for group in batch.groups:
            for sibling in group.siblings:
                assert number - 1 - sibling.version.step <= staleness
    assert "over_stale" not in world.core.run.anomalies


def test_trainer_that_fell_back_leaves_no_token_staler_than_the_bound(make: Any) -> None:
    world = make(phases=(StageSpec("rl", "rl", batch=2, steps=14, max_staleness=2, checkpoint_every=5),))
    world.go_until(lambda: world.core.run.curriculum.trainer_step == 7)
    world.kill("rollout-0")
    settle(world, 30, ("source-0", "verify-0", "update-0"))
    assert world.core.run.rollout_queue
    world.kill("update-0")
    world.start("update")
    world.start("rollout", slots=100)
    for _ in range(20):
        # The first version of the new lineage is that of the checkpoint; here the trainer rests for a while.
        if world.core.run.curriculum.visible.version.lineage == 1:
            break
        world.work("update-0", 1)
        world.turn()
    assert WeightVersion(1, 5) == world.core.run.curriculum.visible.version
    settle(world, 10, ("rollout-0", "verify-0"))
    world.go()
    assert 1 == world.core.run.curriculum.lineage
    lags = [
        number - 1 - sibling.version.step
        for number, batch in world.batches.items()
        for group in batch.groups
        for sibling in group.siblings
    ]
    assert max(lags) <= 2
    assert "over_stale" not in world.core.run.anomalies


def test_trainer_waits_for_the_slow_group_that_is_due_instead_of_dropping_it(make: Any) -> None:
    world = make(phases=(StageSpec("rl", "rl", batch=2, steps=6, max_staleness=1),))
    slow: set[int] = set()

    def hold_back() -> None:
        worker = world.workers["verify-0"]
        worker.work = type(worker.work)(
            order for order in worker.work if order.episode // 4 != 1 or slow.add(order.lease)
        )

    world.kill("verify-0")
    world.start("verify", slots=40)
    for turn in range(120):
        if turn % 10 == 0:
            world.beat()
        hold_back()
        for name in list(world.workers):
            world.work(name, 10)
        world.turn()
    taken = [group.group for batch in world.batches.values() for group in batch.groups]
    assert slow and 1 not in taken
    assert 1 == world.core.run.curriculum.frontier
    ready = [group.number for group in world.core.run.groups.values() if group.state == "ready"]
    assert len(ready) >= 1
    assert {} == world.core.run.counts.dropped


def test_credits_bound_what_is_admitted(make: Any) -> None:
    world = make(phases=(StageSpec("rl", "rl", batch=3, steps=50, max_staleness=2),))
    settle(world, 30)
    assert (2 + 0 + 1) * 3 == len(world.core.run.groups)


def test_tier_holds_no_more_in_flight_than_it_may(make: Any) -> None:
    entries = (entry("a"), entry("b", tier="heavy"))
    world = make(entries=entries, tiers={"heavy": TierSpec(inflight=4)}, phases=(StageSpec("rl", "rl", 4, steps=50),))
    settle(world, 30)
    assert 4 == world.core.run.tier_inflight["heavy"]
    assert 1 == sum(group.entry.tier == "heavy" for group in world.core.run.groups.values())


def test_shares_are_kept(make: Any) -> None:
    entries = (entry("a", share=1.0), entry("b", share=3.0))
    world = make(entries=entries, phases=(StageSpec("rl", "rl", batch=4, steps=10),))
    world.go(2000)
    played = [name for (name,) in world.ledger.rows("SELECT entry FROM grp WHERE state = 'trained'")]
    assert (10, 30) == (played.count("a"), played.count("b"))


def test_batch_of_groups_per_entry_has_just_those(make: Any) -> None:
    world = make(phases=(StageSpec("rl", "rl", batch=3, steps=4, per_entry={"a": 1, "b": 2}),))
    world.go()
    for batch in world.batches.values():
        assert ["a", "b", "b"] == sorted(group.domain for group in batch.groups)


def test_same_step_gets_the_same_batch_whoever_takes_it(make: Any) -> None:
    world = make()
    world.go_until(lambda: world.core.run.curriculum.trainer_step >= 2)
    before = dict(world.batches)
    world.kill("update-0")
    world.start("update")
    world.go()
    assert {0, 1} == {lineage for lineage, _ in world.trained}
    assert before.items() <= world.batches.items()
    assert world.trained[1, 1] == world.trained[0, 1]
    assert 24 == world.core.run.counts.trained


def test_commit_of_a_dead_lineage_is_void(make: Any) -> None:
    world = make()
    world.go_until(lambda: world.core.run.curriculum.trainer_step >= 1)
    dead = world.workers["update-0"]
    world.start("update")
    world.turn()
    world.turn()
    assert 1 == world.core.run.curriculum.lineage
    empty = Array("float64", (0,), b"")
    world.mail.append(
        (world.workers["update-0"], 99, Commit(WeightVersion(0, 2), {}, Array("int64", (0,), b""), empty))
    )
    world.turn()
    assert world.core.run.anomalies["dead_lineage"] >= 1
    assert dead.peer not in world.core.run.workers


def test_shuffled_rewards_stay_inside_their_group_and_stand_in_the_ledger(make: Any) -> None:
    world = make(should_shuffle_rewards=True, entries=(entry("a", group_size=8),))
    world.reward = float
    world.go()
    assert all(batch.shuffled for batch in world.batches.values())
    changed = 0
    for batch in world.batches.values():
        for group in batch.groups:
            numbers = [sibling.episode for sibling in group.siblings]
            rewards = [sibling.reward for sibling in group.siblings]
            assert sorted(numbers) == numbers == sorted(map(int, rewards))
            changed += rewards != numbers
    assert changed >= 5
    assert [(1,)] * 3 == list(world.ledger.rows("SELECT shuffled FROM batch"))
    assert 3 == len(list(world.ledger.rows("SELECT * FROM log WHERE what = 'rewards_shuffled'")))
    raw = list(world.ledger.rows("SELECT episode, reward FROM episode"))
    assert all(number == reward for number, reward in raw)
