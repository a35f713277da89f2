"""What the core refuses, and how a run ends."""

from typing import Any

import pytest
from coordinator_world import FakeWorker, entry, held, ordered, settle, spec

from assay.core.error import ConfigError, PluginError, TransitionError
from assay.core.scheduler import Assignment, Slot, Waiting
from assay.core.wire import (
    Fault,
    LeaseEpisode,
    Stop,
)
from assay.runtime.coordinator import schedule
from assay.runtime.coordinator.spec import EvaluationSpec, StageSpec
from assay.runtime.coordinator.transition import step


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
@pytest.mark.parametrize("owners", [{}, {"scheduler": "mine 1.0"}])
def test_faulty_scheduler_ends_the_run_naming_its_owner(
    make: Any, scheduler: Any, text: str, owners: dict[str, str]
) -> None:
    world = make(rollout_scheduler=scheduler, owners=owners)
    with pytest.raises(PluginError, match=text) as caught:
        settle(world)
    assert owners.get("scheduler", type(scheduler).__module__) == caught.value.at


class Crowding:
    """Gives everything to one worker with slots, whatever else it lacks."""

    def pick(self, view: Any, capacity: Any, now_s: float) -> list[Assignment]:
        return [Assignment(one.item, capacity[0].worker) for one in view.waiting[:1]]


def test_scheduler_that_overcommits_memory_ends_the_run(make: Any) -> None:
    world = make(verify_scheduler=Crowding(), entries=(entry("a", needs={"memory": 2.0}),))
    with pytest.raises(PluginError, match="must give waiting items to workers with room for them"):
        world.go()


class Beyond:
    def __init__(self, picked: Any) -> None:
        self.picked = picked

    def pick(self, size: int, seen: Any, rng: Any) -> Any:
        if isinstance(self.picked, Exception):
            raise self.picked
        return self.picked


@pytest.mark.parametrize("picked", [50, -1, True, 0.5, None, KeyError("oops")])
def test_faulty_sampler_ends_the_run_naming_its_owner(make: Any, picked: Any) -> None:
    world = make(entries=(entry("a", sampler=Beyond(picked)),), owners={"sampler.a": "mine 1.0"})
    with pytest.raises(PluginError, match="a sampler must") as caught:
        settle(world)
    assert "mine 1.0" == caught.value.at


class Newest:
    should_see_every_domain = True

    def pick(self, view: Any, capacity: Any, now_s: float) -> list[Assignment]:
        self.seen = view
        return [Assignment(view.waiting[-1].item, capacity[0].worker)] if view.waiting else []


@pytest.mark.parametrize("sees_all", [True, False])
def test_scheduler_that_asks_for_it_sees_past_a_domain_that_fills_the_head_of_the_queue(
    make: Any, sees_all: bool
) -> None:
    policy = Newest()
    policy.should_see_every_domain = sees_all  # type: ignore[misc]
    world = make(verify_scheduler=policy)
    settle(world)
    run = world.core.run
    world.work("rollout-0", 1)
    world.turn()
    (template,) = policy.seen.waiting
    crowd = {10_000 + n: Waiting(10_000 + n, "a", "auto", 0.0, 1.0) for n in range(200)}
    last = Waiting(template.item, "b", "auto", 0.0, 1.0)
    waiting = schedule._head(policy, {**crowd, template.item: last}, [Slot("w", {"slots": 1.0})])
    assert sees_all == (last in waiting)
    assert 65 + sees_all == len(waiting)
    assert run.accounts.keys() == policy.seen.done.keys()
    assert ({"a": 0.1, "b": 0.1} if sees_all else {}) == policy.seen.cost_s
    assert ({"a": 1.0, "b": 1.0} if sees_all else {}) == policy.seen.mean


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
