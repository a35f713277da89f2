import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.error import ConfigError, GroupError
from assay.runtime.algorithm import GRPO
from assay.runtime.algorithm.grpo import Grpo

rewards = st.lists(st.floats(-100, 100), min_size=2, max_size=16)


@given(rewards, st.booleans())
def test_advantages_of_a_group_sum_to_zero(values: list[float], normalize: bool) -> None:
    (advantages,) = Grpo(normalize=normalize).advantages([("d", values)])
    assert len(values) == len(advantages)
    assert abs(math.fsum(advantages)) <= 1e-6 * (1.0 + max(map(abs, advantages)))


@given(rewards, st.randoms(use_true_random=False))
def test_order_of_siblings_changes_no_advantage(values: list[float], random) -> None:
    order = list(range(len(values)))
    random.shuffle(order)
    (plain,) = Grpo().advantages([("d", values)])
    (shuffled,) = Grpo().advantages([("d", [values[index] for index in order])])
    assert [plain[index] for index in order] == pytest.approx(shuffled, abs=1e-9)


def test_normalized_advantages_have_standard_deviation_one() -> None:
    (advantages,) = Grpo().advantages([("d", [1.0, 0.0, 0.0, 0.0])])
    assert [3**0.5, -(3**-0.5), -(3**-0.5), -(3**-0.5)] == pytest.approx(advantages)


def test_without_normalization_advantages_are_centred_rewards() -> None:
    assert [[0.75, -0.25, -0.25, -0.25]] == Grpo(normalize=False).advantages([("d", [1.0, 0.0, 0.0, 0.0])])


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e-300, 1e300])
def test_group_of_equal_rewards_has_no_advantage(value: float) -> None:
    assert [[0.0, 0.0, 0.0]] == Grpo().advantages([("d", [value] * 3)])


def test_groups_do_not_touch_each_other() -> None:
    alone = Grpo().advantages([("d", [1.0, 0.0])])
    together = Grpo().advantages([("e", [5.0, 7.0, 9.0]), ("d", [1.0, 0.0])])
    assert alone[0] == together[1]


@pytest.mark.parametrize("values", [[1.0], [], [1.0, math.nan], [1.0, math.inf]])
def test_unfit_group_is_refused(values: list[float]) -> None:
    with pytest.raises(GroupError, match="2 finite rewards"):
        Grpo().advantages([("d", values)])


def test_denominator_is_named_and_reaches_the_loss() -> None:
    assert 0.0 == Grpo().loss_options["per_sequence"]
    assert 1.0 == Grpo(denominator="sequence").loss_options["per_sequence"]
    with pytest.raises(ConfigError, match="token or sequence"):
        Grpo(denominator="group")  # type: ignore[arg-type]


def test_clip_outside_its_range_is_refused() -> None:
    with pytest.raises(ConfigError, match="clip_low"):
        Grpo(clip_low=1.0)


def test_factory_names_the_class() -> None:
    assert f"{Grpo.__module__}:{Grpo.__qualname__}" == GRPO.object_name
    assert Grpo.name == GRPO.name


eighths = st.lists(st.integers(-800, 800).map(lambda n: n / 8), min_size=2, max_size=16)
batches = st.lists(st.tuples(st.sampled_from("abc"), eighths), min_size=1, max_size=8)


@given(batches)
def test_advantages_per_domain_are_what_float64_arrays_give(groups: list[tuple[str, list[float]]]) -> None:
    centred = [np.asarray(values, np.float64) - np.mean(np.asarray(values, np.float64)) for _, values in groups]
    got = Grpo(scope="domain").advantages(groups)
    for domain in {name for name, _ in groups}:
        own = [index for index, (name, _) in enumerate(groups) if name == domain]
        scale = np.std(np.concatenate([centred[index] for index in own]))
        if scale > 1e-6:
            for index in own:
                np.testing.assert_allclose(got[index], centred[index] / scale, rtol=1e-9, atol=1e-9)


@given(batches)
def test_advantages_per_domain_have_deviation_one_or_are_all_zero(groups: list[tuple[str, list[float]]]) -> None:
    got = Grpo(scope="domain").advantages(groups)
    for domain in {name for name, _ in groups}:
        values = [a for (name, _), group in zip(groups, got, strict=True) if name == domain for a in group]
        mean_square = math.fsum(a * a for a in values) / len(values)
        assert mean_square == pytest.approx(1.0) or not any(values)


@given(batches, rewards)
def test_another_domain_changes_no_advantage(groups: list[tuple[str, list[float]]], other: list[float]) -> None:
    assert Grpo(scope="domain").advantages(groups) == Grpo(scope="domain").advantages([*groups, ("other", other)])[:-1]


def test_spread_inside_a_domain_decides_what_its_groups_weigh() -> None:
    wide, narrow = Grpo(scope="domain").advantages([("d", [0.0, 2.0]), ("d", [0.9, 1.1])])
    assert [-10.0, 10.0] == pytest.approx([wide[0] / narrow[1], wide[1] / narrow[1]])
    alone, _ = Grpo(scope="domain").advantages([("d", [0.0, 2.0]), ("e", [0.9, 1.1])])
    assert [-1.0, 1.0] == pytest.approx(alone)


def test_scope_is_named_and_needs_normalization() -> None:
    with pytest.raises(ConfigError, match="group or domain"):
        Grpo(scope="batch")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="normalized where they have a scope"):
        Grpo(scope="domain", normalize=False)
