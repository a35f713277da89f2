"""Stages, barriers and evaluations, and the versions they are played under."""

from typing import Any

from coordinator_world import held, ordered, scored, settle, spec

from assay.core.trajectory import Trace, WeightVersion
from assay.core.verdict import Unscored
from assay.core.wire import (
    EpisodeDone,
    LeaseEpisode,
    PublishWeights,
    UseWeights,
)
from assay.runtime.coordinator.spec import EvaluationSpec, StageSpec

RL = (StageSpec("rl", "rl", batch=2, steps=3),)


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
        def look(self, view: Any, memory: Any) -> tuple[bool, Any]:
            return bool(view.stage_step >= 2), memory

    phases = (StageSpec("warm", "sft", batch=2, until=Twice(), publish_every=0), *RL)
    world = make(phases=phases)
    world.go()
    assert [PublishWeights(True)] == ordered(world, PublishWeights)
    assert 5 == world.core.run.curriculum.trainer_step


class Looks:
    """Over at its fourth look; the steps it was asked about are what it remembers."""

    def look(self, view: Any, memory: Any) -> tuple[bool, Any]:
        seen = [*(memory or []), view.step]
        return len(seen) >= 4, seen


RULED = (
    StageSpec("first", "rl", batch=2, until=Looks(), checkpoint_every=2),
    StageSpec("second", "rl", batch=2, until=Looks()),
)


def test_what_a_stage_rule_remembers_survives_the_coordinator(make: Any) -> None:
    world = make(phases=RULED)
    for step in (1, 2, 3):
        world.go_until(lambda step=step: world.core.run.curriculum.trainer_step >= step)
        world.restart()
        world.beat()
        assert list(range(1, step + 1)) == world.core.run.curriculum.memory
    world.go()
    assert 8 == world.core.run.curriculum.trainer_step


def test_a_stage_rule_begins_anew_with_its_stage(make: Any) -> None:
    world = make(phases=RULED)
    world.go_until(lambda: world.core.run.curriculum.trainer_step >= 6)
    assert [5, 6] == world.core.run.curriculum.memory


def test_an_evaluation_after_a_stage_that_a_rule_ends_outlives_every_process(make: Any) -> None:
    after = EvaluationSpec("after", {"a": 3, "b": 2})
    world = make(phases=(StageSpec("only", "rl", batch=2, until=Looks(), checkpoint_every=3), after))
    world.go_until(lambda: "after" in world.core.run.evaluations)
    for name in list(world.workers):
        world.kill(name)
    world.restart()
    for role in ("source", "rollout", "verify", "update"):
        world.start(role)
    world.go_until(lambda: world.core.run.curriculum.lineage == 1)
    world.turn()
    # No worker has weights of the former lineage.
    assert WeightVersion(1, 4) == world.core.run.evaluations["after"].version
    world.go()
    assert 5 == sum(world.core.run.evaluations["after"].scored.values())


def test_a_stage_rule_is_asked_once_about_a_step_that_two_lineages_committed(make: Any) -> None:
    world = make(phases=RULED)
    world.go_until(lambda: world.core.run.curriculum.trainer_step >= 3)
    world.kill("update-0")
    world.start("update")
    world.go_until(lambda: world.core.run.curriculum.lineage == 1 and world.core.run.curriculum.trainer_step >= 3)
    assert [1, 2, 3] == world.core.run.curriculum.memory
    world.go()
    assert 8 == world.core.run.curriculum.trainer_step


def test_an_evaluation_plays_each_task_as_often_as_it_is_told(make: Any) -> None:
    world = make(phases=(EvaluationSpec("now", {"a": 4, "b": 2}, samples=3),))
    world.verdict = lambda episode: Unscored("infra", "gone") if episode % 5 == 0 else scored(float(episode % 2))
    world.go_until(lambda: world.core.run.counts.evaluated >= 5)
    world.restart()
    world.beat()
    world.go()
    rows = list(
        world.ledger.rows(
            "SELECT g.entry, g.idx, COUNT(*), COUNT(DISTINCT e.seed), MIN(g.size) "
            "FROM episode e JOIN grp g USING (grp) "
            "WHERE e.state = 'evaluated' AND g.state = 'evaluated' GROUP BY 1, 2 ORDER BY 1, 2"
        )
    )
    assert [("a", n, 3, 3, 3) for n in range(4)] + [("b", n, 3, 3, 3) for n in range(2)] == rows
    assert (18, 18) == (world.core.run.counts.submitted, world.core.run.counts.evaluated)
    evaluation = world.core.run.evaluations["now"]
    assert (3, 14) == (evaluation.samples, sum(evaluation.scored.values()))
