"""Leases: renewed, expired, answered twice or late, taken over."""

from typing import Any

from coordinator_world import entry, held, scored, settle, silence

from assay.core.wire import (
    BatchReady,
    Goodbye,
    Take,
    VerdictDone,
)
from assay.runtime.coordinator.core import Core
from assay.runtime.coordinator.instruction import Drained, Received, Send


def test_lease_that_is_not_renewed_goes_to_another_with_the_same_seed(make: Any) -> None:
    world = make()
    settle(world)
    first = held(world, "rollout-0")
    world.start("rollout", slots=30, name="rollout-1")
    silence(world, 4.0, ("rollout-1", "source-0", "verify-0", "update-0"))
    again = {order.episode: order for order in held(world, "rollout-1")}
    assert 6 == len(first)
    for order in first:
        assert (order.seed, order.task) == (again[order.episode].seed, again[order.episode].task)
        assert order.lease != again[order.episode].lease


def test_renewed_lease_outlasts_any_number_of_leases(make: Any) -> None:
    world = make()
    settle(world)
    before = {order.lease for order in held(world, "rollout-0")}
    silence(world, 40.0, tuple(world.workers))
    assert before == {order.lease for order in held(world, "rollout-0")}
    assert "lease_expired" not in world.core.run.anomalies


def test_worker_that_never_answers_loses_its_lease_in_the_end(make: Any) -> None:
    world = make(entries=(entry("a", max_rollout_s=5.0),))
    settle(world)
    silence(world, 20.0, tuple(world.workers))
    assert world.core.run.anomalies["lease_expired"] >= 6


def test_stall_of_the_loop_expires_nothing(make: Any) -> None:
    world = make()
    settle(world)
    world.turn(60.0)
    world.turn(0.01)
    assert ({"stall": 1}, 4) == (world.core.run.anomalies, len(world.core.run.workers))


def test_second_answer_has_no_effect(make: Any) -> None:
    world = make()
    settle(world)
    worker = world.workers["rollout-0"]
    order = worker.work[0]
    for _ in range(3):
        world.post(worker, world.answer(worker, order))
    world.turn()
    assert 2 == world.core.run.anomalies["duplicate"]
    assert 1 == sum(1 for _ in world.ledger.rows("SELECT * FROM rollout"))
    verify = world.workers["verify-0"]
    leased = verify.work[0]
    for _ in range(3):
        world.post(verify, world.answer(verify, leased))
    world.turn()
    assert 1 == sum(1 for _ in world.ledger.rows("SELECT * FROM verdict"))


def test_late_answer_counts_while_nobody_plays_the_episode_again(make: Any) -> None:
    world = make()
    settle(world)
    worker = world.workers["rollout-0"]
    order = worker.work.popleft()
    world.core.run.leases[order.lease].deadline_s = 0.0
    worker.held.pop(order.lease)
    world.core.run.leasing_from_s = 0.0
    world.core._leasing_from_s = 1e9
    silence(world, 0.5, tuple(world.workers))
    assert "planned" == world.core.run.episodes[order.episode].state
    world.post(worker, world.answer(worker, order))
    world.turn()
    assert "rolled" == world.core.run.episodes[order.episode].state


def test_rollouts_are_never_raced(make: Any) -> None:
    world = make()
    settle(world)
    slow = world.workers["rollout-0"]
    order = slow.work[0]
    world.start("rollout", slots=30, name="rollout-1")
    silence(world, 4.0, ("rollout-1", "source-0", "verify-0", "update-0"))
    assert order.episode in {other.episode for other in held(world, "rollout-1")}
    world.mail.append((slow, 0, slow.hello()))
    world.post(slow, world.answer(slow, order))
    world.turn()
    assert "rolling" == world.core.run.episodes[order.episode].state


def test_goodbye_gives_work_back_and_charges_nobody(make: Any) -> None:
    world = make()
    settle(world)
    worker = world.workers.pop("rollout-0")
    world.mail.append((worker, 0, Goodbye("recycled")))
    world.turn()
    assert {0} == {episode.retries for episode in world.core.run.episodes.values()}
    assert {"planned"} == {episode.state for episode in world.core.run.episodes.values()}


def test_stranger_is_asked_who_it_is_and_nothing_of_it_is_acknowledged(make: Any) -> None:
    world = make()
    settle(world)
    core: Core = world.core
    core.handle(Received(b"nobody", 5, Take(0, 1)), world.now_s)
    said = [item for item in core.handle(Drained(), world.now_s) if isinstance(item, Send) and item.peer == b"nobody"]
    assert ["WhoAreYou"] == [type(item.order).__name__ for item in said]


def test_restarted_coordinator_takes_over_what_workers_still_hold(make: Any) -> None:
    world = make()
    settle(world)
    before = {order.episode: order.lease for order in held(world, "rollout-0")}
    world.restart()
    world.beat()
    world.turn(0.01)
    world.turn(0.01)
    run = world.core.run
    assert before == {episode.number: episode.lease.number for episode in run.episodes.values() if episode.lease}
    assert {0} == {episode.retries for episode in run.episodes.values()}


def test_first_leases_after_a_restart_wait_for_the_workers_to_speak(make: Any) -> None:
    world = make()
    settle(world)
    world.restart()
    world.start("rollout", name="rollout-1")
    world.turn(0.01)
    world.turn(0.01)
    assert [] == held(world, "rollout-1")
    for _ in range(5):
        world.turn(0.9)
    assert 6 == len(held(world, "rollout-1"))


def test_answer_of_verify_for_an_episode_that_ended_changes_nothing(make: Any) -> None:
    world = make()
    world.go_until(lambda: world.core.run.counts.trained > 0)
    number = min(n for (n,) in world.ledger.rows("SELECT episode FROM episode WHERE state = 'trained'"))
    world.post(world.workers["verify-0"], VerdictDone(1, number, scored(9.0)))
    world.turn()
    assert [(float(number % 2),)] == list(world.ledger.rows("SELECT reward FROM episode WHERE episode = ?", (number,)))
    assert BatchReady in {type(order) for _, order in world.orders}
