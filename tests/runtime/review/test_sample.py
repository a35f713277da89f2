"""The sample sees every domain and outcome, and is the same for everybody at any time."""

from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review.sample import Stratum, allot, choose, draw, is_for_two, read_population, shuffled

RARE, COMMON, SMALL = Stratum("big", True), Stratum("big", False), Stratum("small", False)
POPULATION = {COMMON: list(range(0, 10_000)), RARE: list(range(10_000, 10_020)), SMALL: [20_000, 20_001]}


def test_rare_outcomes_and_small_domains_are_seen() -> None:
    assert {COMMON: 40, RARE: 3, SMALL: 2} == allot(POPULATION, 40, 3)
    assert {COMMON: 3, RARE: 3, SMALL: 2} == allot(POPULATION, 0, 3)
    chosen = choose(POPULATION, 40, 3)
    assert {20_000, 20_001} <= set(chosen)
    assert 3 == len(set(chosen) & set(POPULATION[RARE]))
    assert 45 == len(set(chosen)) == len(chosen)


def test_sample_depends_on_the_seed_alone() -> None:
    assert choose(POPULATION, 40, 3, seed=1) == choose(dict(reversed(POPULATION.items())), 40, 3, seed=1)
    assert set(choose(POPULATION, 40, 3, seed=1)) != set(choose(POPULATION, 40, 3, seed=2))


def test_larger_sample_contains_the_smaller_one() -> None:
    assert set(choose(POPULATION, 20, 3)) < set(choose(POPULATION, 60, 3))


def test_order_says_nothing_about_the_stratum() -> None:
    population = {COMMON: list(range(100)), RARE: list(range(100, 200))}
    order = [episode >= 100 for episode in choose(population, 40, 3)]
    first = sum(order[: len(order) // 2])
    assert 4 < first < 16
    assert shuffled([3, 1, 2], 5) == shuffled([1, 2, 3], 5)


def test_share_for_two_is_kept() -> None:
    assert 150 < sum(is_for_two(episode, 0, 0.2) for episode in range(1000)) < 250
    assert not any(is_for_two(episode, 0, 0.0) for episode in range(1000))
    assert all(is_for_two(episode, 0, 1.0) for episode in range(1000))
    assert draw(0, "sample", 1) != draw(0, "two", 1)


def test_population_of_a_run_is_read_by_outcome(stored: StoredRun) -> None:
    from assay.runtime.coordinator.ledger import read_only

    ledger = read_only(stored.folder.ledger)
    population = read_population(ledger, ["edit"])
    ledger.close()
    # One of sixteen is unscored, and one has no verdict yet.
    assert 15 == sum(map(len, population.values()))
    assert {Stratum("edit", True), Stratum("edit", False)} == set(population)
    for stratum, episodes in population.items():
        for episode in episodes:
            row = stored.find(episode)
            assert row is not None and row.verdict.payout.success == stratum.success  # type: ignore[union-attr]
