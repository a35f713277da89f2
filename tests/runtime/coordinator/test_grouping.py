"""Groups: who counts, who does not, and what takes the place of a dropped one."""

from typing import Any

import pytest
from coordinator_world import World, entry, scored, spec, unscored
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.runtime.coordinator.spec import StageSpec


@pytest.mark.slow
@settings(max_examples=30)
@given(
    rewards=st.lists(st.floats(-2, 2, width=32), min_size=2, max_size=5),
    position=st.integers(0, 5),
    many=st.integers(1, 3),
)
def test_unscored_sibling_changes_nothing_about_the_others(
    tmp_path_factory: Any, rewards: list[float], position: int, many: int
) -> None:
    def groups(verdicts: list[Any]) -> list[list[float]]:
        path = tmp_path_factory.mktemp("unscored") / "ledger.sqlite"
        size = len(verdicts)
        run = spec(
            entries=(entry("a", group_size=size),),
            phases=(StageSpec("rl", "rl", batch=1, steps=1, max_staleness=0),),
            admit=lambda rewards: True,
        )
        world = World(run, path)
        world.verdict = lambda episode: verdicts[episode % size]
        world.go()
        world.ledger.close()
        return [[sibling.reward for sibling in group.siblings] for group in world.batches[1].groups]

    plain: list[Any] = [scored(reward) for reward in rewards]
    at = min(position, len(plain))
    assert [rewards] == groups(plain) == groups([*plain[:at], *[unscored()] * many, *plain[at:]])


def test_unscored_episode_has_no_reward_in_the_ledger_and_no_part_in_any_mean(make: Any) -> None:
    world = make()
    world.verdict = lambda episode: unscored() if episode % 4 == 3 else scored(float(episode % 2))
    world.go()
    rows = list(world.ledger.rows("SELECT reward, success, terms FROM episode WHERE reason = 'unscored'"))
    assert rows == [(None, None, None)] * len(rows)
    assert len(rows) == world.core.run.counts.dropped["unscored"] == 6
    assert {1 / 3} == {item["pass_rate"] for tally in world.core.run.tallies.values() for item in tally.recent}


def test_group_below_min_scored_is_dropped_with_its_reason_and_another_takes_its_place(make: Any) -> None:
    world = make()
    world.verdict = lambda episode: unscored() if episode // 4 == 0 and episode % 4 else scored(float(episode % 2))
    world.go()
    assert {"below_min_scored": 4} == world.core.run.counts.dropped
    assert (3 * 2 * 4, 0) == (world.core.run.counts.trained, world.finish.code)


def test_group_with_nothing_to_learn_from_is_replaced(make: Any) -> None:
    world = make()
    world.reward = lambda episode: 1.0 if episode // 4 in (1, 3) else float(episode % 2)
    world.go()
    assert {"not_admitted": 8} == world.core.run.counts.dropped
    assert 24 == world.core.run.counts.trained


def test_reward_that_is_not_finite_is_a_fault_and_never_a_reward(make: Any) -> None:
    world = make()
    world.verdict = lambda episode: scored(float("nan") if episode == 0 else float(episode % 2))
    world.go()
    assert 1 == world.core.run.anomalies["unscored_verifier_fault"]
    assert [(None,)] == list(world.ledger.rows("SELECT reward FROM episode WHERE episode = 0"))
