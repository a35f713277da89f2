"""Judges: an episode that waits for one holds no slot and runs out of no time."""

from pathlib import Path

import pytest
from coordinator_world import World, entry, held, spec

from assay.core.wire import Heartbeat, LeaseVerify
from assay.runtime.coordinator.spec import StageSpec

LIMIT_S = 10.0


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A domain that asks a judge and a quick one; one verify worker with one slot."""
    return World(
        spec(
            entries=(
                entry("judged", share=0.5, tier="judge", max_verify_s=LIMIT_S),
                entry("quick", share=0.5, max_verify_s=LIMIT_S),
            ),
            phases=(StageSpec("rl", "rl", batch=2, steps=10, max_staleness=2),),
            watchdog_s=1e6,
        ),
        tmp_path / "ledger.sqlite",
    )


def play(world: World, turns: int, waiting: bool, passed_s: float = 0.05) -> set[int]:
    """Play on; what is judged is never answered. Returns the leases of judged episodes."""
    for _ in range(turns):
        for name in list(world.workers):
            if name != "verify-0":
                world.work(name, 8)
        worker = world.workers["verify-0"]
        for order in held(world, "verify-0", LeaseVerify):
            if order.entry == "quick":
                worker.work.remove(order)
                world.post(worker, world.answer(worker, order))
        judged = {order.lease for order in held(world, "verify-0", LeaseVerify)}
        world.beat()
        if waiting:
            world.mail.append((worker, 0, Heartbeat(tuple(worker.held), tuple(judged))))
        world.turn(passed_s)
    return {order.lease for order in held(world, "verify-0", LeaseVerify)}


def quick(world: World) -> int:
    sql = "SELECT COUNT(*) FROM episode e JOIN grp g USING (grp) WHERE g.entry = 'quick' AND e.reward IS NOT NULL"
    return int(next(iter(world.ledger.rows(sql)))[0])


def test_outage_of_a_judge_stops_no_other_domain(world: World) -> None:
    before = len(play(world, 60, waiting=True))
    assert before > 1
    assert quick(world) >= 8


def test_without_word_of_a_judge_slots_stay_taken(world: World) -> None:
    assert 1 == len(play(world, 60, waiting=False))


def test_waiting_episode_runs_out_of_no_time(world: World) -> None:
    first = play(world, 20, waiting=True)
    assert first
    assert first <= play(world, 60, waiting=True, passed_s=1.0)
    run = world.core.run
    assert all(run.leases[number].is_waiting for number in first)
    assert all(run.leases[number].latest_s > run.now_s + LIMIT_S for number in first)


def test_episode_that_goes_on_takes_its_slot_again(world: World) -> None:
    play(world, 40, waiting=True)
    worker = next(worker for worker in world.core.run.workers.values() if worker.role == "verify")
    world.beat()
    world.turn()
    assert worker.free["slots"] == worker.capacity["slots"] - len(worker.leases) < 0
