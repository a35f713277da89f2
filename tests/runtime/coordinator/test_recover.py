"""What a resumed run knows of pass rates: the same groups, in the same order, as one that was never killed."""

from pathlib import Path
from typing import Any

import pytest
from coordinator_world import World, entry, scored, spec, unscored

from assay.core.stage_rule import StageView
from assay.runtime.coordinator.recover import recover
from assay.runtime.coordinator.spec import StageSpec


class AfterFive:
    """Nobody knows the end of its stage before it has come, so groups are under way then."""

    def look(self, view: StageView, memory: Any) -> tuple[bool, Any]:
        return view.stage_step >= 5, None


def busy(path: Path, seed: int) -> World:
    """A run that verifies many episodes in one drain, with two verify workers."""
    phases = (
        StageSpec("one", "rl", batch=2, until=AfterFive(), max_staleness=2),
        StageSpec("two", "rl", batch=2, steps=4, max_staleness=2),
    )
    world = World(spec(phases=phases, entries=(entry("a"), entry("b", sizes={"train": 7}))), path, seed=seed)
    world.start("verify", 8, "verify-1")
    world.start("rollout", 16, "rollout-1")
    world.verdict = lambda episode: unscored() if episode % 5 == 0 else scored(float(episode * 2654435761 % 97 < 48))
    return world


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3, 4])
def test_means_and_pass_rates_are_those_of_a_run_that_was_not_killed(tmp_path: Path, seed: int) -> None:
    world = busy(tmp_path / "ledger.sqlite", seed)
    turn = 0
    while world.finish is None:
        turn += 1
        if turn % 5 == 0:
            world.beat()
        for name in list(world.workers):
            world.work(name, world.rng.randrange(4))
        world.turn(shuffle=True)
        if turn % 7 == 0:
            recovered = recover(world.spec, world.ledger)
            assert recovered is not None
            for name, tally in world.core.run.tallies.items():
                again = recovered[0].tallies[name]
                assert (list(tally.recent), tally.stats) == (list(again.recent), again.stats)
    cut = "SELECT g.grp FROM grp g JOIN episode e USING (grp) WHERE g.reason = 'stage_over' AND e.reward IS NOT NULL"
    assert list(world.ledger.rows(cut)), "no group was cut off with a scored sibling"
    world.ledger.close()


def test_verdicts_of_one_drain_have_times_that_rise(tmp_path: Path) -> None:
    world = busy(tmp_path / "ledger.sqlite", 3)
    world.go_until(lambda: world.core.run.curriculum.trainer_step >= 2)
    times = [time for (time,) in world.ledger.rows("SELECT verified_s FROM verdict")]
    assert len(times) == len(set(times))
    assert max(times) == pytest.approx(world.core.run.verified_s)
    world.ledger.close()
