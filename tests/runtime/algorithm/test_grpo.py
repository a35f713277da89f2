import math

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
