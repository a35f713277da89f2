"""The scheduler keeps the contract of schedulers, and beats first come, first served where it should."""

from collections.abc import Sequence
from statistics import mean

import pytest
from assay_example_scheduler import SHORTEST
from assay_example_scheduler.shortest import Shortest

from assay.core.error import ConfigError
from assay.core.scheduler import Assignment, Scheduler, Slot, View
from assay.runtime.coordinator.spec import EntrySpec, RunSpec, StageSpec
from assay.runtime.scheduler.fifo import Fifo
from assay.runtime.simulate.simulator import Model, Simulator, Spread
from assay.testing import SchedulerContract

TestShortest = SchedulerContract.of(SHORTEST)


class Watched:
    """A scheduler and the seconds that items of each domain waited under it."""

    should_see_every_domain = True

    def __init__(self, inner: Scheduler) -> None:
        self.inner = inner
        self.waits: dict[str, list[float]] = {}

    def pick(self, view: View, capacity: Sequence[Slot], now_s: float) -> list[Assignment]:
        given = self.inner.pick(view, capacity, now_s)
        by_item = {item.item: item for item in view.waiting}
        for one in given:
            waiting = by_item[one.item]
            self.waits.setdefault(waiting.domain, []).append(now_s - waiting.since_s)
        return given


def simulated(scheduler: Scheduler, seed: int) -> tuple[float, float]:
    """Return the mean wait of verifications of 0.2 s beside others of 20 s, and how long the run took."""
    watched = Watched(scheduler)
    entries = tuple(
        EntrySpec(name, 0.5, 4, 2, {"train": 200}, {"train": name}, verify_s=seconds)
        for name, seconds in (("short", 0.2), ("long", 20.0))
    )
    stage = StageSpec("rl", "rl", batch=4, steps=12, max_staleness=2)
    run = RunSpec("plan", 1, entries, (stage,), verify_scheduler=watched)
    model = Model(
        {"short": Spread(1.0, 0.4), "long": Spread(1.0, 0.4)},
        {"short": Spread(0.2, 0.3), "long": Spread(20.0, 0.3)},
        Spread(1.0),
        slots={"source": 2, "rollout": 32, "verify": 4},
    )
    outcome = Simulator(run, model, seed).run(max_s=50_000.0)
    return mean(watched.waits["short"]), outcome.wall_s


def test_short_work_waits_less_and_the_run_is_no_longer() -> None:
    ours, fifo = ([simulated(make(), seed) for seed in range(3)] for make in (Shortest, Fifo))
    assert mean(wait_s for wait_s, _ in ours) < mean(wait_s for wait_s, _ in fifo) / 3
    assert mean(wall_s for _, wall_s in ours) < mean(wall_s for _, wall_s in fifo) * 1.05


def test_ageing_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="above 0"):
        Shortest(0.0)
