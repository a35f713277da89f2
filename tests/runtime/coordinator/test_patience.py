"""People: what waits for them stops nobody else, and what they answer is trained."""

from pathlib import Path

import pytest
from coordinator_world import World, entry, held, spec

from assay.core.trajectory import WeightVersion
from assay.core.wire import LeaseVerify
from assay.runtime.coordinator.spec import EvaluationSpec, RunSpec, StageSpec, TierSpec
from assay.runtime.coordinator.state import Group
from assay.runtime.coordinator.watchdog import Watchdog

STEPS, BATCH, SIBLINGS = 30, 2, 4


def waiting_run(num_asked: int = 2, max_staleness: int = 1) -> RunSpec:
    """A quick domain, and one that waits for people with so many groups of it in flight at most."""
    return spec(
        entries=(
            entry("quick", share=0.7, max_verify_s=10.0),
            entry("asked", share=0.3, tier="human", max_verify_s=600_000.0),
        ),
        phases=(StageSpec("rl", "rl", batch=BATCH, steps=STEPS, max_staleness=max_staleness),),
        tiers={"human": TierSpec(inflight=num_asked * SIBLINGS)},
        watchdog_s=100.0,
    )


class Desk:
    """A verify worker with one slot: it verifies what a machine can, and keeps what people are asked.

    Args:
        world: Everybody else.
        step_turns: Turns that the trainer takes for a step.
    """

    def __init__(self, world: World, step_turns: int = 1) -> None:
        self.world = world
        self.step_turns = step_turns
        self.turns = 0
        self.kept: list[LeaseVerify] = []

    def turn(self) -> None:
        worker = self.world.workers["verify-0"]
        for order in held(self.world, "verify-0", LeaseVerify):
            if order.entry == "asked":
                worker.work.remove(order)
                self.kept.append(order)
        for name in list(self.world.workers):
            self.world.work(name, 8)
        self.turns += 1
        held_up = [item for item in self.world.mail if item[0].role == "update"] if self.turns % self.step_turns else []
        self.world.mail = [item for item in self.world.mail if item not in held_up]
        self.world.turn()
        self.world.mail += held_up
        self.world.beat()

    def answer(self) -> None:
        worker = self.world.workers["verify-0"]
        for order in self.kept:
            self.world.post(worker, self.world.answer(worker, order))
        self.kept.clear()

    def run(self, turns: int) -> None:
        while turns and self.world.finish is None and "verify-0" in self.world.workers:
            self.turn()
            turns -= 1


def trained(world: World) -> dict[str, int]:
    sql = "SELECT g.entry, COUNT(*) FROM episode e JOIN grp g USING (grp) WHERE e.state = 'trained' GROUP BY 1"
    return {str(name): int(number) for name, number in world.ledger.rows(sql)}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(waiting_run(), tmp_path / "ledger.sqlite")


def test_people_who_never_answer_stop_nobody(world: World) -> None:
    desk = Desk(world)
    desk.run(800)
    assert STEPS == world.core.run.curriculum.trainer_step
    assert {"quick": STEPS * BATCH * SIBLINGS} == trained(world)
    assert 2 * SIBLINGS == len(desk.kept)


@pytest.mark.parametrize("max_staleness", [1, 4])
def test_answered_group_is_trained_as_soon_as_that_makes_nobody_late(tmp_path: Path, max_staleness: int) -> None:
    # With a long bound and a slow trainer the others alone could fill every batch for ever.
    world = World(waiting_run(max_staleness=max_staleness), tmp_path / "ledger.sqlite")
    world.start("verify", slots=16)
    world.start("rollout", slots=16)
    desk = Desk(world, step_turns=8)
    desk.run(120)
    asked = {order.episode for order in desk.kept}
    step = world.core.run.curriculum.frontier
    assert (2 * SIBLINGS, True) == (len(asked), step > 5)
    desk.answer()
    desk.run(800)
    steps = [number for (_, number), episodes in world.trained.items() if asked & set(episodes)]
    # What stood in line is due step by step; the room that answers take comes behind it.
    assert 0 < len(steps) <= 2 and step < max(steps) <= step + max_staleness + 2
    assert STEPS == world.core.run.curriculum.trainer_step
    assert 0 == world.core.run.anomalies.get("over_stale", 0)


def test_many_answers_at_once_hold_nobody_up_and_make_nobody_late(tmp_path: Path) -> None:
    world = World(waiting_run(10), tmp_path / "ledger.sqlite")
    desk = Desk(world)
    desk.run(80)
    asked = {order.episode for order in desk.kept}
    step = world.core.run.curriculum.frontier
    assert len(asked) >= 6 * SIBLINGS and 5 < step < STEPS - 12
    # Some stay unanswered: nobody waits for them either.
    later = desk.kept[-SIBLINGS:]
    desk.kept = desk.kept[:-SIBLINGS]
    desk.answer()
    desk.kept = later
    desk.run(800)
    assert STEPS == world.core.run.curriculum.trainer_step
    steps = [number for (_, number), episodes in world.trained.items() if asked & set(episodes)]
    assert len(asked) - SIBLINGS == sum(len(asked & set(episodes)) for episodes in world.trained.values())
    assert step < min(steps) and max(steps) <= step + 12
    assert 0 == world.core.run.anomalies.get("over_stale", 0)


def test_answered_group_keeps_its_turn_over_a_restart(world: World) -> None:
    desk = Desk(world)
    desk.run(60)
    asked = {order.episode for order in desk.kept}
    step = world.core.run.curriculum.frontier
    desk.answer()
    desk.turn()
    world.restart()
    desk.run(800)
    steps = [number for (_, number), episodes in world.trained.items() if asked & set(episodes)]
    assert 0 < len(steps) <= 2 and step < max(steps) <= step + 3


def test_groups_that_are_late_already_do_not_wait_for_people_too(world: World) -> None:
    desk = Desk(world)
    run = world.core.run

    def waiting() -> list[Group]:
        return [group for group in run.groups.values() if group.entry.name == "quick" and group.state != "batched"]

    desk.run(40)
    while len(waiting()) < BATCH + 1:
        desk.turn()
    for group in waiting():
        # As after a trainer that fell back.
        group.oldest = WeightVersion(0, 0)
    step = run.curriculum.trainer_step
    desk.run(60)
    assert step + 5 < run.curriculum.trainer_step


def test_drain_waits_for_no_person_and_a_resumed_run_asks_again(world: World) -> None:
    desk = Desk(world)
    desk.run(60)
    asked = {order.episode for order in desk.kept}
    world.drain()
    began_s = world.now_s
    desk.run(100)
    for _ in range(10):
        world.turn()
    assert world.finish is not None and (130, "drained") == (world.finish.code, world.finish.reason)
    assert world.now_s - began_s < world.spec.drain_s / 2
    world.finish = None
    world.restart()
    for role in ("source", "rollout", "verify", "update"):
        world.start(role)
    again = Desk(world)
    again.run(60)
    assert asked <= {order.episode for order in again.kept}


def test_evaluation_asks_all_its_questions_whatever_the_slots(tmp_path: Path) -> None:
    run = spec(entries=(entry("asked", tier="human"),), phases=(EvaluationSpec("after", {"asked": 10}),))
    world = World(run, tmp_path / "ledger.sqlite", roles=("source", "rollout", "update", "verify"))
    desk = Desk(world)
    desk.run(60)
    assert 10 == len(desk.kept)
    desk.answer()
    desk.run(60)
    assert 10 == world.core.run.counts.evaluated


def test_machine_that_stands_still_is_seen_while_people_are_waited_for(world: World) -> None:
    Desk(world).run(60)
    run, dog = world.core.run, Watchdog(100.0)
    run.rollout_queue.clear()
    run.running["rollout"].clear()

    def stuck(running: dict[str, int]) -> str:
        run.verify_queue.clear()
        run.running["verify"] = running
        dog.stuck(run, is_taking=False)
        run.now_s += 101.0
        dog.progress("update", run.now_s)
        return dog.stuck(run, is_taking=False) or ""

    assert "" == stuck({"asked": 8})
    assert "edge verify has made no progress for 100 s" in stuck({"asked": 8, "quick": 1})
