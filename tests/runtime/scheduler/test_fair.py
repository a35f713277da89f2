import pytest
from scheduler_queue import items, queue, simulate, slots, view

from assay.core.error import ConfigError
from assay.core.scheduler import Scheduler, Waiting
from assay.runtime.scheduler.fair import Fair
from assay.runtime.scheduler.fifo import Fifo

HALF = {"a": 0.5, "b": 0.5}


def test_domain_most_behind_its_share_comes_first() -> None:
    waiting = queue("a", "a", "b", "b")
    assert [2, 3] == items(Fair().pick(view(waiting, share=HALF, done={"a": 10.0, "b": 2.0}), slots(2), 9.0))
    assert [0, 2] == items(Fair().pick(view(waiting, share=HALF), slots(2), 9.0))


def test_what_runs_counts_at_what_it_will_bring() -> None:
    waiting = queue("a", "b")
    seen = {"share": HALF, "done": {"a": 6.0, "b": 4.0}, "running": {"b": 1}}
    assert [1] == items(Fair().pick(view(waiting, **seen), slots(1), 9.0))
    assert [0] == items(Fair().pick(view(waiting, **seen, mean={"a": 1.0, "b": 5.0}), slots(1), 9.0))


def test_slots_given_at_once_follow_the_shares() -> None:
    waiting = queue(*"a" * 40, *"b" * 40)
    given = items(Fair().pick(view(waiting, share={"a": 0.75, "b": 0.25}), slots(40), 9.0))
    assert 30 == sum(item < 40 for item in given)


def test_domain_without_a_share_waits_for_a_bounded_time() -> None:
    waiting = [*queue("b", "b"), Waiting(9, "none", "auto", 0.0, 1.0)]
    assert [0] == items(Fair(max_wait_s=60.0).pick(view(waiting, share=HALF), slots(1), 60.0))
    late = [Waiting(9, "none", "auto", -1.0, 1.0), *queue("b", "b")]
    assert [9] == items(Fair(max_wait_s=60.0).pick(view(late, share=HALF), slots(1), 60.0))


def test_item_too_large_for_every_slot_holds_up_nobody() -> None:
    waiting = [Waiting(9, "a", "auto", 0.0, 1.0, {"gpu": 2.0}), *queue("a", "b")]
    assert [0, 1] == items(Fair().pick(view(waiting, share={"a": 0.9, "b": 0.1}), slots(2), 9.0))


def test_waiting_time_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="above 0"):
        Fair(max_wait_s=0.0)


def realised(make: type[Scheduler], share: float, **values: object) -> list[float]:
    outcomes = [simulate(make(), seed, rollout=make(), share=share, **values) for seed in range(5)]  # type: ignore[arg-type]
    assert all(outcome.status.counts.is_conserved for outcome in outcomes)
    assert all(outcome.status.lag_max <= 12 for outcome in outcomes)
    return [outcome.trained.get("heavy", 0.0) for outcome in outcomes]


def test_fair_keeps_a_slow_domain_in_a_short_stage_where_fifo_loses_it() -> None:
    values = {
        "rollout_s": (0.5, 10.0),
        "verify_s": (2.0, 2.0),
        "steps": 6,
        "staleness": 8,
        "slots": (200, 4),
    }
    fifo, fair = realised(Fifo, 0.25, **values), realised(Fair, 0.25, **values)
    # 24 groups, of which 6 are its own.
    assert sum(fifo) / 5 <= 0.05
    assert sum(fair) / 5 == pytest.approx(0.25, abs=0.1)
    assert min(fair) >= 0.2


@pytest.mark.slow
def test_fair_comes_closer_to_the_target_over_a_longer_stage_too() -> None:
    values = {
        "rollout_s": (0.5, 20.0),
        "verify_s": (2.0, 2.0),
        "steps": 20,
        "staleness": 12,
        "slots": (256, 4),
    }
    fifo, fair = realised(Fifo, 0.4, **values), realised(Fair, 0.4, **values)
    assert sum(fifo) / 5 <= 0.37
    assert sum(fair) / 5 == pytest.approx(0.4, abs=0.025)
