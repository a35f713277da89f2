"""The simulator: the real core on a virtual clock."""

import pytest

from assay.core.error import ConfigError
from assay.runtime.coordinator.spec import EntrySpec, RunSpec, StageSpec, TierSpec
from assay.runtime.simulate.simulator import Model, Outcome, Simulator, Spread


def simulate(
    seed: int = 0,
    *,
    max_staleness: int = 1,
    heavy: float = 0.0,
    inflight: int | None = None,
    rollout_sigma: float = 0.4,
) -> Outcome:
    entries = [EntrySpec("fast", 1.0 - heavy, 4, 2, {"train": 500}, {"train": "f"}, tier="light")]
    if heavy:
        entries.append(EntrySpec("slow", heavy, 4, 2, {"train": 500}, {"train": "s"}, tier="heavy"))
    run = RunSpec(
        "plan",
        1,
        tuple(entries),
        (StageSpec("rl", "rl", batch=4, steps=60, max_staleness=max_staleness),),
        tiers={"heavy": TierSpec(inflight=inflight, max_staleness=6)},
    )
    model = Model(
        rollout={"fast": Spread(1.0, rollout_sigma), "slow": Spread(1.0, 0.4)},
        verify={"fast": Spread(0.05, 0.5), "slow": Spread(10.0, 0.5)},
        step=Spread(2.0),
        slots={"source": 2, "rollout": 16, "verify": 8},
    )
    return Simulator(run, model, seed).run(max_s=10_000.0)


@pytest.mark.slow
def test_same_seed_gives_the_same_run() -> None:
    assert simulate(3) == simulate(3)
    assert simulate(3).wall_s != simulate(4).wall_s


@pytest.mark.slow
def test_asynchrony_keeps_the_trainer_busier_over_several_seeds() -> None:
    for seed in range(3):
        assert simulate(seed, max_staleness=2).trainer_idle < simulate(seed, max_staleness=0).trainer_idle - 0.2


@pytest.mark.slow
@pytest.mark.parametrize("staleness", [0, 1, 2, 4])
def test_quick_groups_never_make_a_slow_one_staler_than_its_bound(staleness: int) -> None:
    for seed in range(4):
        outcome = simulate(seed, max_staleness=staleness, rollout_sigma=1.5)
        assert outcome.status.lag_max <= staleness
        assert "over_stale" not in outcome.status.anomalies


@pytest.mark.slow
def test_slow_domain_keeps_its_share_under_a_staleness_bound_of_its_own() -> None:
    for seed in range(3):
        outcome = simulate(seed, heavy=0.25)
        assert outcome.trained["slow"] == pytest.approx(0.25, abs=0.05)
        assert outcome.status.counts.is_conserved
        assert outcome.status.lag_max <= 6
        assert "over_stale" not in outcome.status.anomalies


def test_run_that_does_not_end_in_time_is_an_error_that_says_where_it_stands() -> None:
    run = RunSpec("p", 1, (EntrySpec("a", 1.0, 4, 2, {"train": 5}, {}),), (StageSpec("rl", "rl", batch=1, steps=5),))
    model = Model({"a": Spread(1.0)}, {"a": Spread(1.0)}, Spread(1.0), {"a": 0.0})
    with pytest.raises(ConfigError, match="step 0"):
        Simulator(run, model).run(max_s=100.0)
