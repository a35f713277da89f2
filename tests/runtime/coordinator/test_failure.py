"""What becomes of work that failed, and who is blamed."""

from pathlib import Path
from typing import Any

import pytest
from coordinator_world import World, blob, entry, held, settle, spec

from assay.core.wire import (
    EpisodeFailed,
    FailedTask,
    Fault,
    LeaseVerify,
    ReadyTask,
    TasksReady,
    VerifyFailed,
)
from assay.runtime.coordinator.spec import StageSpec

RL = (StageSpec("rl", "rl", batch=2, steps=3),)


def test_task_that_kills_its_process_is_quarantined_and_its_neighbours_are_not(make: Any) -> None:
    world = make(max_deaths=2)
    settle(world)
    world.work("rollout-0", 6)
    world.turn()
    victim = held(world, "verify-0", LeaseVerify)[0].episode
    group = world.core.run.episodes[victim].group
    for _ in range(2):
        worker = world.workers["verify-0"]
        order = worker.work.popleft()
        assert victim == order.episode
        world.post(worker, VerifyFailed(order.lease, order.episode, "process_died", "signal 9"))
        world.turn()
    assert {"quarantined": 4} == world.core.run.counts.dropped
    rows = list(world.ledger.rows("SELECT entry, idx, deaths, is_out, story FROM quarantine"))
    assert [(group.entry.name, group.index, 2, 1, "process_died: signal 9")] == rows
    world.go()
    assert 24 == world.core.run.counts.trained


def test_silent_death_of_a_worker_with_many_episodes_blames_none_of_them(make: Any) -> None:
    world = make(max_deaths=1)
    settle(world)
    world.kill("rollout-0")
    world.start("rollout")
    world.turn()
    assert [] == list(world.ledger.rows("SELECT * FROM quarantine"))
    assert {0, 1} == {episode.retries for episode in world.core.run.episodes.values()}


def test_silent_death_of_a_worker_with_one_episode_blames_its_task(make: Any) -> None:
    world = make(max_deaths=1)
    settle(world)
    world.work("rollout-0", 6)
    world.turn()
    world.kill("verify-0")
    world.start("verify")
    world.turn()
    assert 1 == len(list(world.ledger.rows("SELECT * FROM quarantine")))


def test_budget_of_retries_ends_a_rollout_as_dropped_and_a_verification_as_unscored(make: Any) -> None:
    world = make(max_retries=2)
    settle(world)

    def fail(name: str, kind: Any, number: int) -> None:
        worker = world.workers[name]
        order = next(item for item in worker.work if item.episode == number)
        worker.work.remove(order)
        world.post(worker, kind(order.lease, number, "infra", "no"))
        world.turn()

    first = held(world, "rollout-0")[0].episode
    for _ in range(3):
        fail("rollout-0", EpisodeFailed, first)
    assert {"retries_spent": 1} == world.core.run.counts.dropped
    world.work("rollout-0", 1)
    world.turn()
    second = held(world, "verify-0", LeaseVerify)[0].episode
    for _ in range(3):
        fail("verify-0", VerifyFailed, second)
    assert ("unscored", "infra") == next(
        world.ledger.rows("SELECT state, json_extract(verdict, '$[1]') FROM episode WHERE episode = ?", (second,))
    )


def test_trajectory_the_store_has_lost_is_played_again(make: Any) -> None:
    world = make()
    settle(world)
    world.work("rollout-0", 1)
    world.turn()
    worker = world.workers["verify-0"]
    order = worker.work.popleft()
    world.post(worker, VerifyFailed(order.lease, order.episode, "lost_blob", "segment is gone"))
    world.turn()
    assert [("planned", None)] == list(
        world.ledger.rows("SELECT state, trajectory FROM episode WHERE episode = ?", (order.episode,))
    )
    world.go()
    assert 24 == world.core.run.counts.trained


def test_bad_rows_are_counted_and_passed_over(make: Any) -> None:
    world = make()
    worker = world.workers["source-0"]
    world.turn()
    world.turn()
    order = worker.work.popleft()
    failures = tuple(FailedTask(index, "bad_row", "field a") for index in order.indices)
    world.post(worker, TasksReady(order.lease, order.entry, order.split, (), failures))
    world.go()
    assert len(order.indices) == world.core.run.anomalies["bad_row"]
    bad = set(order.indices)
    played = {index for name, index in world.ledger.rows("SELECT entry, idx FROM grp") if name == order.entry}
    assert not bad & played


def test_bad_row_that_lies_ahead_does_not_hold_up_the_source_edge(tmp_path: Path) -> None:
    world = World(spec(watchdog_s=5.0, entries=(entry("a"),), phases=RL), tmp_path / "l")
    worker = world.workers["source-0"]
    while not worker.work:
        world.turn()
    order = worker.work.popleft()
    *good, bad = order.indices
    ready = tuple(ReadyTask(index, blob(f"t{index}"), "h") for index in good)
    world.post(worker, TasksReady(order.lease, order.entry, order.split, ready, (FailedTask(bad, "bad_row", "a"),)))
    settle(world)
    assert bad in world.core.run.feed("a", "train").ahead
    for _ in range(20):
        world.beat()
        world.turn(0.5)
        assert world.finish is None


@pytest.mark.parametrize(
    ("missing", "edge"),
    [("source", "source"), ("rollout", "rollout"), ("verify", "verify"), ("update", "update")],
)
def test_edge_that_stands_still_is_named_and_ends_the_run(tmp_path: Path, missing: str, edge: str) -> None:
    roles = tuple(role for role in ("source", "rollout", "verify", "update") if role != missing)
    limits = {"max_rollout_s": 2.0, "max_verify_s": 2.0}
    world = World(spec(watchdog_s=5.0, entries=(entry("a", **limits),), phases=RL), tmp_path / "l", roles=roles)
    for turn in range(400):
        if turn % 2 == 0:
            world.beat()
        for name in list(world.workers):
            world.work(name, 10)
        world.turn(0.2)
        if world.finish is not None:
            break
    assert world.finish is not None
    assert 3 == world.finish.code
    assert world.finish.reason.startswith(f"edge {edge} has made no progress for 5 s")
    assert "no trainer" in world.finish.reason or f"0 {missing} workers" in world.finish.reason


def test_fatal_fault_of_a_worker_ends_the_run_with_its_words(make: Any) -> None:
    world = make()
    settle(world)
    world.post(world.workers["update-0"], Fault("loss is nan", is_fatal=True))
    for _ in range(3):
        world.turn()
    assert (1, "update-0: loss is nan") == (world.finish.code, world.finish.reason)
