"""Levels of difficulty: what they hang on, and which rows they open."""

from types import SimpleNamespace
from typing import Any

import pytest
from coordinator_world import World, entry, scored, spec
from msgspec.structs import replace

from assay.core.blob import BlobRef
from assay.core.error import ConfigError
from assay.core.wire import FailedTask, ReadyTask, TasksReady
from assay.runtime.coordinator import feed, level
from assay.runtime.coordinator.spec import LevelSpec, StageSpec
from assay.runtime.sampler.band import Band

LEVELS = (LevelSpec("digits=2", 10), LevelSpec("digits=4", 20), LevelSpec("digits=6", 20))


def climbing(make: Any, rates: dict[int, float], steps: int = 60, **changes: Any) -> World:
    """Return a world whose pass rate hangs on the level alone; siblings share their fate."""
    world: World = make(
        entries=(entry("a", levels=LEVELS, **changes),),
        phases=(StageSpec("rl", "rl", batch=4, steps=steps),),
        admit=lambda rewards: True,
    )

    def verdict(episode: int) -> Any:
        group = world.core.run.episodes[episode].group
        at, _ = level.place(group.entry, group.index)
        return scored(float(group.number % 10 < 10 * rates[at]))

    world.verdict = verdict
    return world


def log(world: World) -> list[tuple[str, str]]:
    return list(world.ledger.rows("SELECT what, detail FROM log WHERE what LIKE 'level%' ORDER BY n"))


def rows_of(world: World, steps: range) -> set[int]:
    return {group.task.index for step in steps for group in world.batches[step].groups}


def test_every_row_is_of_one_level() -> None:
    one = entry("a", levels=LEVELS)
    assert [(0, 0), (0, 9), (1, 0), (1, 19), (2, 0), (2, 19)] == [
        level.place(one, index) for index in (0, 9, 10, 29, 30, 49)
    ]
    assert [(0, 10), (10, 20), (30, 20)] == [level.rows(one, at) for at in range(3)]
    assert (0, 50) == level.rows(entry("b"), 0)
    assert (0, 49) == level.place(entry("b"), 49)


@pytest.mark.slow
def test_easy_level_gives_way_to_the_next_and_the_last_stays(make: Any) -> None:
    world = climbing(make, {0: 1.0, 1: 0.9, 2: 0.9}, steps=40)
    world.go(2000)
    assert ["level_raised", "level_raised"] == [what for what, _ in log(world)]
    assert "a: digits=4 after a pass rate of 1.00" == log(world)[0][1]
    # The first 16 groups are of the first level, and nothing from before comes long after a change.
    assert rows_of(world, range(1, 5)) <= set(range(10))
    assert rows_of(world, range(30, 41)) <= set(range(30, 50))


def test_level_that_is_too_hard_gives_way_to_the_one_before(make: Any) -> None:
    world = climbing(make, {0: 1.0, 1: 0.1, 2: 1.0}, steps=24)
    world.go(2000)
    assert ["level_raised", "level_lowered"] == [what for what, _ in log(world)][:2]
    assert rows_of(world, range(1, 25)) <= set(range(30))


@pytest.mark.parametrize("rate", [0.25, 0.5, 0.75])
def test_level_stays_where_tasks_are_neither_solved_nor_hopeless(make: Any, rate: float) -> None:
    world = climbing(make, {0: rate}, steps=20)
    world.verdict = lambda episode: scored(float(world.core.run.episodes[episode].sibling < 4 * rate))
    world.go(2000)
    assert [] == log(world)
    assert rows_of(world, range(1, 21)) <= set(range(10))


def test_hopeless_first_level_stays(make: Any) -> None:
    world = climbing(make, {0: 0.0}, steps=12)
    world.go(2000)
    assert [] == log(world)


@pytest.mark.slow
def test_sampler_sees_the_rows_of_the_level_alone(make: Any) -> None:
    shown = []

    class Watching(Band):
        def pick(self, size: int, seen: Any, rng: Any) -> int:
            shown.append((size, max(seen, default=0)))
            return super().pick(size, seen, rng)

    world = climbing(make, {0: 1.0, 1: 0.9, 2: 0.9}, steps=40, sampler=Watching())
    world.go(2000)
    assert {10, 20} == {size for size, _ in shown}
    assert all(largest < size for size, largest in shown)


def test_level_comes_back_from_the_ledger(make: Any) -> None:
    world = climbing(make, {0: 1.0, 1: 0.5, 2: 0.5})
    for step in range(1, 13):
        world.go_until(lambda step=step: world.core.run.curriculum.trainer_step >= step)
        world.beat()
    before = world.core.run.tallies["a"]
    assert before.level == 1
    assert 0 < len(before.level_rates)
    world.restart()
    after = world.core.run.tallies["a"]
    assert (before.level, before.level_rates) == (after.level, after.level_rates)
    seen = [{at: sorted(stats) for at, stats in tally.stats.items()} for tally in (before, after)]
    assert seen[0] == seen[1]
    assert all(index >= 10 for index in world.core.run.feeds["a", "train"].ahead)


def failing(world: World, is_bad: Any) -> None:
    """Let the source worker fail on rows of `a`."""
    answer = world.answer

    def run(worker: Any, order: Any) -> Any:
        report = answer(worker, order)
        if not isinstance(report, TasksReady):
            return report
        bad = tuple(FailedTask(i, "bad_row", "x") for i in order.indices if order.entry == "a" and is_bad(i))
        left = {one.index for one in bad}
        return replace(report, tasks=tuple(t for t in report.tasks if t.index not in left), failures=bad)

    world.answer = run  # type: ignore[method-assign]


@pytest.mark.parametrize(("bad", "skipped"), [((0, 10), "digits=2"), ((10, 30), "digits=4")])
def test_level_whose_rows_cannot_be_made_is_skipped_and_never_entered_again(make: Any, bad: Any, skipped: str) -> None:
    world = climbing(make, {0: 1.0, 1: 1.0, 2: 0.5}, steps=24)
    failing(world, lambda index: bad[0] <= index < bad[1])
    world.go(2000)
    skips = [detail for what, detail in log(world) if what == "level_skipped"]
    assert [f"a: no row of {skipped} can be made"] == [detail.partition(", ")[0] for detail in skips]
    assert 1 == world.core.run.anomalies["level_skipped"]
    assert 2 == world.core.run.tallies["a"].level
    assert set() == rows_of(world, range(1, 25)) & set(range(*bad))


def test_level_that_is_left_for_an_easier_one_stays_there(make: Any) -> None:
    world = climbing(make, {0: 1.0, 1: 0.5, 2: 0.5}, steps=16)
    failing(world, lambda index: index >= 10)
    world.go(2000)
    assert [
        ("level_raised", "a: digits=4 after a pass rate of 1.00"),
        ("level_skipped", "a: no row of digits=4 can be made, digits=2 instead"),
        ("level_raised", "a: digits=6 after a pass rate of 1.00"),
        ("level_skipped", "a: no row of digits=6 can be made, digits=2 instead"),
    ] == log(world)
    assert rows_of(world, range(1, 17)) <= set(range(10))


@pytest.mark.parametrize("levels", [(), (LevelSpec("n=1", 500), LevelSpec("n=2", 500))])
def test_entry_without_a_row_is_given_up_soon_and_holds_nobody_up(make: Any, levels: Any) -> None:
    sizes = {"train": 1000, "eval": 10, "demos": 20}
    world: World = make(
        entries=(entry("a", levels=levels, sizes=sizes), entry("b")),
        phases=(StageSpec("rl", "rl", batch=4, steps=30),),
        admit=lambda rewards: True,
    )
    failing(world, lambda index: True)
    world.go(2000)
    run = world.core.run
    assert len(run.feed("a", "train").failed) < (1 + len(levels)) * 2 * level.LOST
    assert {"b"} == {group.domain for step in range(1, 31) for group in world.batches[step].groups}
    lost = list(world.ledger.rows("SELECT detail FROM log WHERE what = 'rows_lost'"))
    assert ["a: no row of train can be made"] == [detail.partition(", ")[0] for (detail,) in lost]
    assert {"a"} == run.starved


@pytest.mark.parametrize("levels", [(), (LevelSpec("n=1", 500), LevelSpec("n=2", 500))])
def test_entry_that_was_given_up_stays_so_when_the_run_is_resumed(make: Any, levels: Any) -> None:
    sizes = {"train": 1000, "eval": 10, "demos": 20}
    world: World = make(
        entries=(entry("a", levels=levels, sizes=sizes), entry("b")),
        phases=(StageSpec("rl", "rl", batch=4, steps=12),),
        admit=lambda rewards: True,
    )
    failing(world, lambda index: True)
    world.go_until(lambda: world.core.run.feed("a", "train").is_lost)
    world.go_until(lambda: not world.core.run.feed("a", "train").asked)
    failed = set(world.core.run.feed("a", "train").failed)
    world.restart()
    assert world.core.run.feed("a", "train").is_lost
    world.go(2000)
    assert failed == world.core.run.feed("a", "train").failed
    assert 1 == len(list(world.ledger.rows("SELECT detail FROM log WHERE what = 'rows_lost'")))


def test_row_that_comes_late_shows_that_rows_can_be_made(make: Any) -> None:
    sizes = {"train": 1000, "eval": 10, "demos": 20}
    run = make(entries=(entry("a", sizes=sizes), entry("b"))).core.run
    source = run.feed("a", "train")
    out: list[Any] = []
    bad = tuple(FailedTask(index, "bad_row", "x") for index in range(level.LOST))
    feed.receive(run, out, TasksReady(99, "a", "train", (), bad))
    assert source.is_lost
    late = ReadyTask(500, BlobRef("digest", 1), "hash")
    feed.receive(run, out, TasksReady(99, "a", "train", (late,)))
    assert not source.is_lost


def test_levels_that_do_not_cover_the_rows_are_refused() -> None:
    with pytest.raises(ConfigError, match="must cover the training rows"):
        spec(entries=(entry("a", levels=LEVELS[:2]),)).check()


def test_group_of_another_level_counts_in_nothing(make: Any) -> None:
    world = climbing(make, {0: 1.0})
    run = world.core.run
    run.tallies["a"].level = 1
    late: Any = SimpleNamespace(entry=run.entries["a"])
    out: list[Any] = []
    for _ in range(2 * level.GROUPS):
        level.observe(run, out, late, 0, 1.0)
    assert (1, 0, []) == (run.tallies["a"].level, len(run.tallies["a"].level_rates), out)
    level.observe(run, out, late, 1, 1.0)
    assert [1.0] == list(run.tallies["a"].level_rates)


def test_demonstrations_that_cannot_be_made_are_given_up_and_the_others_go_on(make: Any) -> None:
    sizes = {"train": 50, "eval": 10, "demos": 1000}
    world: World = make(
        entries=(entry("a", sizes=sizes), entry("b", sizes=sizes)),
        phases=(StageSpec("warm", "sft", batch=4, steps=3, publish_every=0),),
    )
    failing(world, lambda index: True)
    world.go(2000)
    assert world.core.run.feed("a", "demos").is_lost
    assert {"b"} == {one.domain for step in range(1, 4) for one in world.batches[step].demonstrations}
