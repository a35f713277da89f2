import pytest
from scheduler_queue import Watched, items, queue, simulate, slots, view

from assay.core.error import ConfigError
from assay.core.scheduler import Waiting
from assay.runtime.scheduler.fifo import Fifo
from assay.runtime.scheduler.tiered import Tiered


def test_cheap_work_comes_first_and_heavy_work_is_capped() -> None:
    waiting = queue("heavy", "heavy", "light", "heavy", "light")
    assert [2, 4, 0, 1] == items(Tiered(max_heavy=2).pick(view(waiting), slots(8), 9.0))
    assert [2, 4] == items(Tiered(max_heavy=2).pick(view(waiting), slots(2), 9.0))


def test_heavy_work_that_runs_counts_for_the_cap() -> None:
    seen = {"running": {"heavy": 1, "light": 7, "other": 2}, "cost_s": {"heavy": 100.0, "light": 1.0, "other": 50.0}}
    waiting = queue("heavy", "heavy", "heavy")
    assert [0] == items(Tiered(max_heavy=4).pick(view(waiting, **seen), slots(8), 9.0))
    assert [] == items(Tiered(max_heavy=3).pick(view(waiting, **seen), slots(8), 9.0))


def test_heavy_work_that_waited_too_long_comes_first_and_keeps_to_the_cap() -> None:
    waiting = queue("heavy", "heavy", "light")
    assert [0, 2] == items(Tiered(max_heavy=1, max_wait_s=10.0).pick(view(waiting), slots(2), 11.0))
    assert [2, 0] == items(Tiered(max_heavy=1, max_wait_s=10.0).pick(view(waiting), slots(2), 9.0))


def test_item_too_large_for_every_slot_holds_up_nobody() -> None:
    waiting = [Waiting(9, "light", "auto", 0.0, 1.0, {"gpu": 2.0}), *queue("heavy")]
    assert [0] == items(Tiered().pick(view(waiting), slots(2), 9.0))


@pytest.mark.parametrize("values", [{"heavy_s": -1.0}, {"max_heavy": 0}, {"max_wait_s": 0.0}])
def test_value_outside_its_range_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="max_heavy >= 1"):
        Tiered(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(3))
def test_heavy_work_holds_no_more_than_its_cap_and_cheap_work_does_not_wait_for_it(seed: int) -> None:
    waits = {}
    for name, inner in (("fifo", Fifo()), ("tiered", Tiered(heavy_s=5.0, max_heavy=6))):
        watched = Watched(inner)
        outcome = simulate(
            watched,
            seed,
            share=0.25,
            rollout_s=(1.0, 1.0),
            verify_s=(0.2, 20.0),
            steps=20,
            staleness=6,
            slots=(64, 8),
        )
        assert outcome.status.counts.is_conserved
        assert outcome.trained["heavy"] == pytest.approx(0.25, abs=0.06)
        waits[name] = sum(watched.waits["light"]) / len(watched.waits["light"])
        assert (8 if name == "fifo" else 6) == watched.most["heavy"]
    assert waits["tiered"] < waits["fifo"] / 20
