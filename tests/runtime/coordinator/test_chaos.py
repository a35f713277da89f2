"""Laws that hold under every order of events, loss, duplicate, death, expiry and restart."""

import random
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from coordinator_world import World, entry, scored, spec, unscored
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.runtime.coordinator.spec import EvaluationSpec, StageSpec

ACTIONS = (
    ("turn", "some", "mixed", "beat", "kill", "restart", "expire", "twice", "lose", "stall")
    + ("work",) * 6
    + ("all",) * 4
)
WORKERS = ("source-0", "rollout-0", "verify-0", "update-0")


def disturb(world: World, seed: int, length: int) -> None:
    """Do `length` things at random; a list of actions drawn one by one would mostly be short."""
    rng = random.Random(seed)
    for _ in range(length):
        if world.finish is None:
            act(world, rng.choice(ACTIONS), rng.randrange(8))


def act(world: World, action: str, n: int) -> None:
    name = WORKERS[n % 4]
    if action == "turn":
        world.turn()
    elif action == "some":
        world.turn(count=n)
    elif action == "mixed":
        world.turn(shuffle=True)
    elif action == "work":
        if name in world.workers:
            world.work(name, n)
        world.turn()
    elif action == "all":
        for other in WORKERS:
            if other in world.workers:
                world.work(other, n)
        world.turn()
    elif action == "beat":
        world.beat()
    elif action == "kill":
        if name in world.workers:
            world.kill(name)
        world.start(name.partition("-")[0])
    elif action == "restart":
        world.restart()
    elif action == "expire":
        for _ in range(8):
            world.turn(0.5)
    elif action == "twice":
        world.mail.extend(world.mail[:n])
    elif action == "lose":
        del world.mail[n : n + 2]
    elif action == "stall":
        world.turn(40.0)


def check_ledger(world: World) -> None:
    """What the ledger says: every episode has one end, and a committed one is in one batch."""
    states = Counter(state for (state,) in world.ledger.rows("SELECT state FROM episode"))
    counts = world.core.run.counts
    assert counts.submitted == sum(states.values())
    assert (counts.trained, counts.evaluated) == (states["trained"], states["evaluated"])
    assert sum(counts.dropped.values()) == states["dropped"]
    assert counts.in_flight == 0
    steps: dict[int, tuple[int, ...]] = {}
    for (lineage, step), episodes in world.trained.items():
        assert steps.setdefault(step, episodes) == episodes, f"lineage {lineage} was given another batch {step}"
    given = Counter(episode for episodes in steps.values() for episode in episodes)
    assert set(given.values()) <= {1}
    assert counts.trained == len(given)


def nonzero(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def small_spec():  # type: ignore[no-untyped-def]
    return spec(
        entries=(entry("a", group_size=3), entry("b", group_size=2, share=2.0)),
        phases=(
            EvaluationSpec("untrained", {"a": 2, "b": 1}),
            StageSpec("warm", "sft", batch=3, steps=2, publish_every=0),
            EvaluationSpec("before", {"a": 2, "b": 1}),
            StageSpec("rl", "rl", batch=2, steps=3, max_staleness=1, checkpoint_every=2),
            EvaluationSpec("after", {"a": 2, "b": 1}),
        ),
        max_retries=1000,
        max_deaths=1000,
    )


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(seed=st.integers(0, 10**6), length=st.integers(0, 300), loss=st.sampled_from((0.0, 0.2)))
def test_nothing_is_lost_nothing_is_trained_twice_and_the_run_ends(seed: int, length: int, loss: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(small_spec(), Path(folder) / "ledger.sqlite", seed=seed)
        world.reward = lambda episode: float((episode * 7 + seed) % 3)
        world.verdict = lambda episode: unscored() if (episode + seed) % 11 == 0 else scored(world.reward(episode))
        world.order_loss = loss
        disturb(world, seed, length)
        world.order_loss = 0.0
        if world.finish is None:
            world.go(3000)
        assert world.finish is not None
        assert (0, "finished") == (world.finish.code, world.finish.reason)
        check_ledger(world)
        world.ledger.close()


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6), length=st.integers(0, 200))
@pytest.mark.slow
def test_core_rebuilt_from_the_ledger_knows_what_the_former_one_knew(seed: int, length: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(small_spec(), Path(folder) / "ledger.sqlite", seed=seed)
        disturb(world, seed, length)
        before = world.core.run
        world.restart()
        after = world.core.run
        for name in (
            "counts",
            "next_episode",
            "next_group",
            "demos_used",
            "lag_sum",
            "lag_n",
            "lag_max",
            "planned",
        ):
            assert getattr(before, name) == getattr(after, name), name
        assert {n: g.state for n, g in before.groups.items()} == {n: g.state for n, g in after.groups.items()}
        leased = {"rolling": "planned", "verifying": "rolled"}
        assert {n: (leased.get(e.state, e.state), e.seed, e.retries, e.reward) for n, e in before.episodes.items()} == {
            n: (e.state, e.seed, e.retries, e.reward) for n, e in after.episodes.items()
        }
        assert {n: t.batch for n, t in before.batches.items()}.items() <= {
            n: t.batch for n, t in after.batches.items()
        }.items()
        assert before.curriculum == after.curriculum
        for name, tally in before.tallies.items():
            assert tally.stats == after.tallies[name].stats
            assert [{k: pytest.approx(v) for k, v in item.items()} for item in tally.recent] == list(
                after.tallies[name].recent
            )
        assert nonzero(before.admitted) == nonzero(after.admitted)
        assert nonzero(before.tier_inflight) == nonzero(after.tier_inflight)
        for key, source in before.feeds.items():
            again = after.feed(*key)
            assert (source.ready, source.failed, source.deaths) == (again.ready, again.failed, again.deaths)
        world.ledger.close()
