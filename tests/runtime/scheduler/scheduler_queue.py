"""Queues, slots and simulated runs to try schedulers on."""

from typing import Any

from assay.core.scheduler import Assignment, Scheduler, Slot, View, Waiting
from assay.core.stage_rule import StageView
from assay.runtime.coordinator.spec import EntrySpec, RunSpec, StageSpec
from assay.runtime.scheduler.fifo import Fifo
from assay.runtime.simulate.simulator import Model, Outcome, Simulator, Spread


def queue(*domains: str, **changes: Any) -> list[Waiting]:
    """Return items 0, 1, ... of these domains, each a second older than the next."""
    return [
        Waiting(item, domain, "auto", float(item), 100.0 if domain == "heavy" else 1.0, **changes)
        for item, domain in enumerate(domains)
    ]


def view(waiting: list[Waiting], **changes: Any) -> View:
    values: dict[str, Any] = {"running": {}, "share": {}, "done": {}}
    return View("verify", waiting, **{**values, **changes})


def items(given: list[Assignment]) -> list[int]:
    return [one.item for one in given]


def slots(*numbers: float, **other: float) -> list[Slot]:
    return [Slot(f"w{n}", {"slots": number, **other}) for n, number in enumerate(numbers)]


class At:
    """Ends a stage at a step, with groups still under way."""

    def __init__(self, step: int) -> None:
        self.step = step

    def look(self, view: StageView, memory: object) -> tuple[bool, object]:
        return view.step >= self.step, memory


class Watched:
    """Remembers how long items waited, and how many of a domain ran at once."""

    should_see_every_domain = True

    def __init__(self, inner: Scheduler) -> None:
        self.inner = inner
        self.waits: dict[str, list[float]] = {}
        self.most: dict[str, int] = {}

    def pick(self, view: View, capacity: Any, now_s: float) -> list[Assignment]:
        given = self.inner.pick(view, capacity, now_s)
        by_item = {one.item: one for one in view.waiting}
        running = dict(view.running)
        for one in given:
            waiting = by_item[one.item]
            self.waits.setdefault(waiting.domain, []).append(now_s - waiting.since_s)
            running[waiting.domain] = running.get(waiting.domain, 0) + 1
        self.most = {name: max(number, self.most.get(name, 0)) for name, number in running.items()}
        return given


def simulate(
    verify: Scheduler,
    seed: int,
    *,
    share: float,
    rollout_s: tuple[float, float],
    verify_s: tuple[float, float],
    steps: int,
    staleness: int,
    slots: tuple[int, int],
    rollout: Scheduler | None = None,
) -> Outcome:
    """Return a run of two domains, `light` and `heavy`, whose stage ends by a rule with groups under way."""
    names = ("light", "heavy")
    entries = tuple(
        EntrySpec(name, part, 4, 2, {"train": 500}, {"train": name}, verify_s=seconds)
        for name, part, seconds in zip(names, (1 - share, share), verify_s, strict=True)
    )
    stage = StageSpec("rl", "rl", batch=4, until=At(steps), max_staleness=staleness)
    run = RunSpec("plan", 1, entries, (stage,), rollout_scheduler=rollout or Fifo(), verify_scheduler=verify)
    model = Model(
        {name: Spread(seconds, 0.4) for name, seconds in zip(names, rollout_s, strict=True)},
        {name: Spread(seconds, 0.5) for name, seconds in zip(names, verify_s, strict=True)},
        Spread(1.0),
        slots={"source": 2, "rollout": slots[0], "verify": slots[1]},
    )
    return Simulator(run, model, seed).run(max_s=50_000.0)
