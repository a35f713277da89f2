"""Shares: who is next, what is booked, and who starves."""

from typing import Any

import pytest
from coordinator_world import World, entry, scored, unscored
from msgspec.structs import replace

from assay.core.error import ConfigError
from assay.core.stage_rule import StageView
from assay.core.trajectory import WeightVersion
from assay.core.wire import EpisodeDone
from assay.runtime.coordinator import share
from assay.runtime.coordinator.instruction import Instruction
from assay.runtime.coordinator.spec import EntrySpec, EvaluationSpec, RunSpec, StageSpec, TierSpec
from assay.runtime.coordinator.state import Run, Tally
from assay.runtime.simulate.simulator import Model, Simulator, Spread

MIX = (("short", 0.5, 4), ("long", 0.3, 8), ("heavy", 0.2, 4))


def simulate(balance: str, seed: int, **changes: Any) -> dict[str, float]:
    """Return how far each entry ended from its target, in points."""
    values: dict[str, Any] = {
        "entries": tuple(EntrySpec(name, part, size, 2, {"train": 500}, {"train": name}) for name, part, size in MIX),
        "phases": (StageSpec("rl", "rl", batch=8, steps=100, max_staleness=2),),
    }
    run = RunSpec("plan", 1, balance=balance, **{**values, **changes})
    model = Model(
        rollout={"short": Spread(0.5, 0.4), "long": Spread(4.0, 0.4), "heavy": Spread(1.0, 0.4)},
        verify={"short": Spread(0.05, 0.5), "long": Spread(0.05, 0.5), "heavy": Spread(5.0, 0.5)},
        step=Spread(1.0),
        pass_rate={"short": 0.5, "long": 0.9, "heavy": 0.3},
        slots={"source": 2, "rollout": 32, "verify": 16},
    )
    outcome = Simulator(run, model, seed).run(max_s=50_000.0)
    return {name: 100 * (one.realised - one.share) for name, one in outcome.status.entries.items()}


@pytest.mark.slow
@pytest.mark.parametrize("balance", ["episodes", "trained_tokens", "compute_s"])
@pytest.mark.parametrize("seed", range(3))
def test_realised_shares_come_within_two_points_of_the_target(balance: str, seed: int) -> None:
    off = simulate(balance, seed)
    assert max(map(abs, off.values())) <= 2.0, off


@pytest.mark.slow
@pytest.mark.parametrize("balance", ["episodes", "trained_tokens", "compute_s"])
def test_tier_with_a_bound_of_its_own_bends_no_share(balance: str) -> None:
    tiered = tuple(
        EntrySpec(name, part, size, 2, {"train": 500}, {"train": name}, tier="judge" if name == "heavy" else "auto")
        for name, part, size in MIX
    )
    off = simulate(balance, 0, entries=tiered, tiers={"judge": TierSpec(max_staleness=4)})
    assert max(map(abs, off.values())) <= 2.0, off


def test_unknown_unit_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be one of"):
        RunSpec("p", 1, (entry("a"),), (StageSpec("rl", "rl", batch=1, steps=1),), balance="steps").check()


class From:
    """Open from a step on, for that one look only."""

    def __init__(self, step: int) -> None:
        self.step = step

    def holds(self, view: StageView) -> bool:
        return view.step == self.step


def trained(world: World, steps: range) -> list[str]:
    return [group.domain for step in steps for group in world.batches[step].groups]


def test_unlocked_entry_stays_open_and_is_owed_nothing_for_the_time_before(make: Any) -> None:
    world = make(entries=(entry("a"), entry("b", unlock=From(8))), phases=(StageSpec("rl", "rl", batch=4, steps=24),))
    world.go()
    assert {"a"} == set(trained(world, range(1, 9)))
    unlocked = list(world.ledger.rows("SELECT detail FROM log WHERE what = 'unlocked'"))
    assert ["b at step 8"] == [detail for (detail,) in unlocked]
    # Two steps of groups were on their way when it was unlocked.
    assert pytest.approx(0.5, abs=0.1) == trained(world, range(12, 25)).count("b") / (13 * 4)
    assert {"a": 0.5, "b": 0.5} == world.core.run.target


def test_entry_of_another_tier_that_is_locked_holds_nobody_up(make: Any) -> None:
    world = make(
        entries=(entry("a"), entry("b", tier="judge", unlock=From(-1))),
        phases=(StageSpec("rl", "rl", batch=4, steps=8),),
        tiers={"judge": TierSpec(max_staleness=3)},
    )
    world.go()
    assert ["a"] * 32 == trained(world, range(1, 9))


def test_next_stage_has_its_own_books(make: Any) -> None:
    stages = (
        StageSpec("one", "rl", batch=4, steps=10, share={"a": 3.0, "b": 1.0}),
        StageSpec("two", "rl", batch=4, steps=10, share={"a": 1.0, "b": 1.0}),
    )
    world = make(phases=stages)
    world.go()
    assert [30, 20] == pytest.approx(
        [trained(world, range(1, 11)).count("a"), trained(world, range(11, 21)).count("a")], abs=1
    )


@pytest.mark.slow
def test_entry_whose_groups_are_all_dropped_draws_a_limited_part_of_the_rollouts(make: Any) -> None:
    world = make(phases=(StageSpec("rl", "rl", batch=4, steps=15),), max_retries=2)
    world.verdict = lambda episode: (
        unscored() if world.core.run.episodes[episode].group.entry.name == "a" else scored(float(episode % 2))
    )
    world.go(2000)
    planned = world.core.run.planned
    assert ["b"] * 60 == trained(world, range(1, 16))
    assert planned["a"] <= planned["b"] / share.FLOOR + 8


def starving(make: Any, steps: int = 40) -> World:
    world: World = make(phases=(StageSpec("rl", "rl", batch=4, steps=steps),))
    world.verdict = lambda episode: (
        unscored()
        if world.core.run.episodes[episode].group.entry.name == "a" and world.core.run.curriculum.trainer_step < 25
        else scored(float(episode % 2))
    )
    world.go(3000)
    return world


@pytest.mark.slow
def test_starvation_is_logged_once_when_it_begins_and_once_when_it_ends(make: Any) -> None:
    world = starving(make, 50)
    alarms = [row for row in world.ledger.rows("SELECT what, detail FROM log WHERE what LIKE '%starved' ORDER BY n")]
    assert ["starved", "no_longer_starved"] == [what for what, _ in alarms]
    assert "a: 0.0% of episodes over 20 steps, target 50.0%, no group trained" == alarms[0][1]


def test_entry_that_gets_its_share_never_starves(make: Any) -> None:
    world = make(phases=(StageSpec("rl", "rl", batch=4, steps=30),))
    world.go(1000)
    assert [] == list(world.ledger.rows("SELECT detail FROM log WHERE what = 'starved'"))
    assert set() == world.core.run.starved


@pytest.mark.parametrize("balance", ["episodes", "trained_tokens", "compute_s"])
def test_books_come_back_from_the_ledger(make: Any, balance: str) -> None:
    world = make(
        entries=(entry("a"), entry("b", unlock=From(3))),
        phases=(StageSpec("rl", "rl", batch=2, steps=30),),
        balance=balance,
    )
    world.go_until(lambda: world.core.run.curriculum.trainer_step >= 12)
    before = world.core.run
    world.restart()
    after = world.core.run
    assert before.books_from > 0
    assert (before.target, before.books_from) == (after.target, after.books_from)
    for name in ("a", "b"):
        one, other = before.accounts[name], after.accounts[name]
        assert (one.trained, one.dropped) == (other.trained, other.dropped)
        assert one.units == pytest.approx(other.units)
        assert one.units > 0
        assert before.tallies[name].spent_s == pytest.approx(after.tallies[name].spent_s)
        assert before.tallies[name].spent_episodes == after.tallies[name].spent_episodes


@pytest.mark.parametrize(("part", "expected"), [(0.2, {"a"}), (0.3, set()), (1.0, set())])
def test_entry_starves_below_a_quarter_of_its_target_over_a_window(part: float, expected: set[str]) -> None:
    stage = StageSpec("rl", "rl", batch=8, steps=99)
    run = Run(RunSpec("p", 1, (entry("a"), entry("b")), (stage,)))
    out: list[Instruction] = []
    share.aim(run, out, {"a": 1.0, "b": 1.0})
    for step in range(share.WINDOW_STEPS + 1):
        assert set() == run.starved, step
        run.accounts["a"].units += 0.5 * part
        run.accounts["b"].units += 1 - 0.5 * part
        for account in run.accounts.values():
            account.trained += 1
        share.watch(run, out, stage)
    assert expected == run.starved


def test_entry_with_a_small_share_is_given_a_longer_window() -> None:
    stage = StageSpec("rl", "rl", batch=8, steps=99)
    run = Run(RunSpec("p", 1, (entry("a", share=1.0), entry("b", share=49.0)), (stage,)))
    share.aim(run, [], {"a": 1.0, "b": 49.0})
    lengths = []
    for step in range(1, 80):
        run.accounts["b"].units += 8
        run.accounts["b"].trained += 8
        share.watch(run, [], stage)
        if "a" in run.starved:
            lengths.append(step)
    # 2 % of 8 groups a step: 50 steps until 8 groups are due, and a look before the first of them.
    assert 51 == lengths[0]


@pytest.mark.slow
def test_sources_that_answer_first_take_no_share_of_the_others() -> None:
    entries = tuple(EntrySpec(f"e{n}", 1.0, 4, 2, {"train": 500}, {"train": f"e{n}"}) for n in range(100))
    run = RunSpec("p", 1, entries, (StageSpec("rl", "rl", batch=100, steps=6, max_staleness=2),))
    spreads = {one.name: Spread(1.0, 0.4) for one in entries}
    model = Model(spreads, spreads, Spread(1.0), slots={"source": 1, "rollout": 256, "verify": 64})
    outcome = Simulator(run, model).run(max_s=10_000.0)
    off = {name: one.realised - one.share for name, one in outcome.status.entries.items()}
    assert max(map(abs, off.values())) <= 0.01


def test_last_evaluation_is_the_first_guess_of_what_a_group_takes(make: Any) -> None:
    """An entry whose episodes are twelve times as long gets no share in groups before the first is measured."""
    sizes = {"train": 50, "eval": 10, "demos": 20}
    world: World = make(
        entries=(entry("a", share=0.9, sizes=sizes), entry("b", share=0.1, sizes=sizes)),
        phases=(EvaluationSpec("before", {"a": 10, "b": 10}), StageSpec("rl", "rl", batch=10, steps=8)),
        balance="trained_tokens",
        admit=lambda rewards: True,
    )
    answer = world.answer

    def lengthy(worker: Any, order: Any) -> Any:
        report = answer(worker, order)
        if isinstance(report, EpisodeDone):
            tokens = 60 if order.entry == "b" else 5
            return replace(report, trace=replace(report.trace, tokens=tokens), num_trained_tokens=tokens)
        return report

    world.answer = lengthy  # type: ignore[method-assign]
    world.go(2000)
    assert 5.0 == world.core.run.tallies["a"].seen_tokens / world.core.run.tallies["a"].seen_episodes
    assert share.realised(world.core.run)["b"] < 0.16


@pytest.mark.parametrize("balance", ["trained_tokens", "compute_s"])
def test_first_guess_comes_back_from_the_ledger(make: Any, balance: str) -> None:
    world: World = make(
        entries=(entry("a"), entry("b")),
        phases=(
            EvaluationSpec("untrained", {"a": 2, "b": 2}),
            StageSpec("warm", "sft", batch=2, steps=1),
            EvaluationSpec("before", {"a": 3, "b": 5}),
            StageSpec("rl", "rl", batch=2, steps=8),
        ),
        balance=balance,
    )
    world.go_until(lambda: "before" in world.core.run.evaluations and world.core.run.evaluations["before"].is_done)
    before = world.core.run
    units = [share.group_units(before, one) for one in before.entries.values()]
    assert (3, 5) == (before.tallies["a"].seen_episodes, before.tallies["b"].seen_episodes)
    world.restart()
    after = world.core.run
    for name in ("a", "b"):
        one, other = before.tallies[name], after.tallies[name]
        assert (one.seen_version, one.seen_episodes) == (other.seen_version, other.seen_episodes)
        assert (one.seen_tokens, pytest.approx(one.seen_s)) == (other.seen_tokens, other.seen_s)
    assert units == pytest.approx([share.group_units(after, one) for one in after.entries.values()])


def test_guess_is_of_the_newest_weights_alone() -> None:
    tally = Tally()
    tally.see(WeightVersion(0, 0), 256, 2.0)
    for tokens in (10, 20):
        tally.see(WeightVersion(0, 9), tokens, 0.5)
    assert (2, 30, 1.0) == (tally.seen_episodes, tally.seen_tokens, tally.seen_s)


def test_one_short_answer_makes_no_entry_cheap(make: Any) -> None:
    """A guess from one episode stays near the mean: an entry that looked cheap would take the first batches."""
    world: World = make(entries=tuple(entry(name) for name in "abcd"), balance="trained_tokens")
    for name, tokens in zip("abcd", (1, 40, 40, 39), strict=True):
        world.core.run.tallies[name].see(WeightVersion(0, 0), tokens, 1.0)
    units = [share.group_units(world.core.run, one) for one in world.core.run.entries.values()]
    assert max(units) / min(units) < 2.0
