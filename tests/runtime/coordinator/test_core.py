"""What the core does with one thing at a time."""

from pathlib import Path
from typing import Any

import pytest
from coordinator_world import FakeWorker, World, entry, scored, spec, unscored
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.array import Array
from assay.core.error import ConfigError, PluginError, TransitionError
from assay.core.scheduler import Assignment
from assay.core.trajectory import Trace, WeightVersion
from assay.core.wire import (
    BatchReady,
    Commit,
    EpisodeDone,
    EpisodeFailed,
    FailedTask,
    Fault,
    Goodbye,
    LeaseEpisode,
    LeaseVerify,
    PublishWeights,
    Stop,
    Take,
    TasksReady,
    UseWeights,
    VerdictDone,
    VerifyFailed,
)
from assay.runtime.coordinator.core import Core
from assay.runtime.coordinator.instruction import Drained, Received, Send
from assay.runtime.coordinator.spec import EvaluationSpec, StageSpec, TierSpec
from assay.runtime.coordinator.transition import step

RL = (StageSpec("rl", "rl", batch=2, steps=3),)


@pytest.fixture
def make(tmp_path: Path) -> Any:
    def world(**changes: Any) -> World:
        return World(spec(**{"phases": RL, **changes}), tmp_path / "ledger.sqlite")

    return world


def settle(world: World, turns: int = 12, roles: tuple[str, ...] = ("source-0",)) -> None:
    for _ in range(turns):
        for name in roles:
            if name in world.workers:
                world.work(name, 100)
        world.turn(0.01)


def held(world: World, name: str, kind: type = LeaseEpisode) -> list[Any]:
    return [order for order in world.workers[name].work if isinstance(order, kind)]


def ordered(world: World, kind: type) -> list[Any]:
    return [order for _, order in world.orders if isinstance(order, kind)]


def silence(world: World, seconds: float, speaking: tuple[str, ...]) -> None:
    """Let time pass in which only some workers send heartbeats."""
    from assay.core.wire import Heartbeat

    for _ in range(round(seconds / 0.5)):
        for name in speaking:
            worker = world.workers[name]
            world.mail.append((worker, 0, Heartbeat(tuple(worker.held))))
        world.turn(0.5)


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


def test_older_weights_than_the_lease_allows_are_refused_and_the_episode_is_played_again(make: Any) -> None:
    world = make(phases=(StageSpec("rl", "rl", batch=2, steps=9),))
    world.go_until(lambda: world.core.run.curriculum.trainer_step >= 3)
    worker = world.workers["rollout-0"]
    settle(world, 3, ("source-0",))
    order = next(item for item in worker.work if item.oldest.step >= 1)
    stale = WeightVersion(0, order.oldest.step - 1)
    world.post(worker, EpisodeDone(order.lease, order.episode, world.blob("x"), stale, Trace(1, 1, 1)))
    worker.work.remove(order)
    world.turn()
    assert 1 == world.core.run.anomalies["stale_weights"]
    assert "rolling" == world.core.run.episodes[order.episode].state
    assert 1 == world.core.run.episodes[order.episode].retries
    assert order.seed == next(item.seed for item in held(world, "rollout-0") if item.episode == order.episode)
    assert world.core.run.curriculum.visible == ordered(world, UseWeights)[-1].weights


def test_evaluation_takes_no_other_version_than_its_own(make: Any) -> None:
    world = make(phases=(EvaluationSpec("now", {"a": 2}),))
    settle(world)
    worker = world.workers["rollout-0"]
    order = worker.work.popleft()
    assert WeightVersion(0, 0) == order.pinned
    world.post(worker, EpisodeDone(order.lease, order.episode, world.blob("x"), WeightVersion(0, 3), Trace(1, 1, 1)))
    world.turn()
    assert 1 == world.core.run.anomalies["stale_weights"]
    world.go()
    assert [(2,)] == list(world.ledger.rows("SELECT COUNT(*) FROM episode WHERE state = 'evaluated'"))


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


def test_goodbye_gives_work_back_and_charges_nobody(make: Any) -> None:
    world = make()
    settle(world)
    worker = world.workers.pop("rollout-0")
    world.mail.append((worker, 0, Goodbye("recycled")))
    world.turn()
    assert {0} == {episode.retries for episode in world.core.run.episodes.values()}
    assert {"planned"} == {episode.state for episode in world.core.run.episodes.values()}


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


def test_reinforcement_waits_for_the_last_version_of_the_stage_before(make: Any) -> None:
    world = make(phases=spec().phases)
    world.go()
    training = [order for order in ordered(world, LeaseEpisode) if order.pinned is None]
    assert WeightVersion(0, 2) == min(order.oldest for order in training)
    pinned = [order.pinned for order in ordered(world, LeaseEpisode) if order.pinned is not None]
    assert [WeightVersion(0, 0)] * 5 + [WeightVersion(0, 2)] * 5 + [WeightVersion(0, 6)] * 5 == pinned
    first_training = next(n for n, (_, order) in enumerate(world.orders) if order is training[0])
    last_before = max(
        n for n, (_, order) in enumerate(world.orders) if getattr(order, "pinned", 0) == WeightVersion(0, 2)
    )
    assert last_before < first_training


def test_imitation_goes_on_beside_an_evaluation_whose_version_stays_in_the_workers(make: Any) -> None:
    world = make(phases=(EvaluationSpec("untrained", {"a": 2}), StageSpec("warm", "sft", batch=2, steps=3)))
    for _ in range(40):
        world.work("source-0", 100)
        world.turn()
    at = world.core.run.curriculum
    assert (3, WeightVersion(0, 3), WeightVersion(0, 0)) == (at.trainer_step, at.published.version, at.visible.version)
    assert [WeightVersion(0, 0)] == [order.weights.version for order in ordered(world, UseWeights)]
    world.go()
    assert WeightVersion(0, 3) == ordered(world, UseWeights)[-1].weights.version


def test_evaluation_goes_on_under_the_name_its_weights_have_in_a_new_lineage(make: Any) -> None:
    world = make(phases=(StageSpec("warm", "sft", batch=2, steps=2), EvaluationSpec("before", {"a": 6})))
    world.go_until(lambda: world.core.run.open_evaluation is not None)
    world.turn()
    for name in ("rollout-0", "update-0"):
        world.kill(name)
        world.start(name.partition("-")[0])
    world.go()
    assert [(6, WeightVersion(1, 2).pack())] == list(
        world.ledger.rows("SELECT (SELECT COUNT(*) FROM episode WHERE state = 'evaluated'), version FROM evaluation")
    )


def test_stage_that_a_rule_ends_publishes_and_saves_at_its_end(make: Any) -> None:
    class Twice:
        def is_over(self, view: Any) -> bool:
            return bool(view.stage_step >= 2)

    phases = (StageSpec("warm", "sft", batch=2, until=Twice(), publish_every=0), *RL)
    world = make(phases=phases)
    world.go()
    assert [PublishWeights(True)] == ordered(world, PublishWeights)
    assert 5 == world.core.run.curriculum.trainer_step


@pytest.mark.parametrize("staleness", [0, 1, 3])
def test_no_trained_token_is_staler_than_the_bound(make: Any, staleness: int) -> None:
    world = make(phases=(StageSpec("rl", "rl", batch=2, steps=8, max_staleness=staleness),))
    world.go()
    for number, batch in world.batches.items():
        for group in batch.groups:
            for sibling in group.siblings:
                assert number - 1 - sibling.version.step <= staleness
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


def test_drain_finishes_what_is_held_and_leases_nothing_new(make: Any) -> None:
    world = make(phases=(StageSpec("rl", "rl", batch=2, steps=50),))
    world.go_until(lambda: world.core.run.curriculum.trainer_step >= 2)
    world.drain()
    before = len(ordered(world, LeaseEpisode))
    for _ in range(100):
        for name in list(world.workers):
            world.work(name, 4)
        world.turn()
        if world.finish is not None:
            break
    assert world.finish is not None
    assert (130, "drained") == (world.finish.code, world.finish.reason)
    assert before == len(ordered(world, LeaseEpisode))
    assert {} == world.workers
    assert world.core.run.counts.is_conserved


def test_fatal_fault_of_a_worker_ends_the_run_with_its_words(make: Any) -> None:
    world = make()
    settle(world)
    world.post(world.workers["update-0"], Fault("loss is nan", is_fatal=True))
    for _ in range(3):
        world.turn()
    assert (1, "update-0: loss is nan") == (world.finish.code, world.finish.reason)


def test_illegal_step_raises_with_the_story(make: Any) -> None:
    world = make()
    settle(world)
    episode = world.core.run.episodes[held(world, "rollout-0")[0].episode]
    with pytest.raises(TransitionError, match="must not go from rolling to trained") as caught:
        step(world.core.run, episode, "trained")
    assert "planned -> rolling" in str(caught.value)


class Raising:
    def pick(self, view: Any, capacity: Any, now_s: float) -> list[Assignment]:
        raise KeyError("oops")


class Twice:
    def pick(self, view: Any, capacity: Any, now_s: float) -> list[Assignment]:
        return [Assignment(view.waiting[0].item, capacity[0].worker)] * 2


@pytest.mark.parametrize(("scheduler", "text"), [(Raising(), "must not raise"), (Twice(), "once each")])
def test_faulty_scheduler_ends_the_run_naming_its_module(make: Any, scheduler: Any, text: str) -> None:
    world = make(rollout_scheduler=scheduler)
    with pytest.raises(PluginError, match=text) as caught:
        settle(world)
    assert str(type(scheduler).__module__) == caught.value.at


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


@pytest.mark.parametrize(
    "changes",
    [
        {"entries": ()},
        {"entries": (entry("a"), entry("a"))},
        {"phases": (StageSpec("rl", "rl", batch=2),)},
        {"phases": (StageSpec("rl", "rl", batch=2, steps=2, share={"c": 1.0}),)},
        {"phases": (StageSpec("rl", "rl", batch=2, steps=2, per_entry={"a": 1}),)},
        {"phases": (StageSpec("rl", "rl", batch=2, steps=2, max_staleness=0, publish_every=2),)},
        {"phases": (EvaluationSpec("now", {"a": 11}),)},
    ],
)
def test_run_that_cannot_work_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        spec(**changes).check()


def test_stop_reaches_a_worker_that_joins_late(make: Any) -> None:
    world = make()
    world.post(world.workers["update-0"], Fault("no", is_fatal=True))
    world.turn()
    world.turn()
    late: FakeWorker = world.start("rollout", name="rollout-9")
    world.turn(0.01)
    assert late.is_stopped or world.finish is not None
    assert ordered(world, Stop)


def test_answer_of_verify_for_an_episode_that_ended_changes_nothing(make: Any) -> None:
    world = make()
    world.go_until(lambda: world.core.run.counts.trained > 0)
    number = min(n for (n,) in world.ledger.rows("SELECT episode FROM episode WHERE state = 'trained'"))
    world.post(world.workers["verify-0"], VerdictDone(1, number, scored(9.0)))
    world.turn()
    assert [(float(number % 2),)] == list(world.ledger.rows("SELECT reward FROM episode WHERE episode = ?", (number,)))
    assert BatchReady in {type(order) for _, order in world.orders}
