"""Every clause of the contract of algorithms turns red for an algorithm that breaks it."""

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from red import breaks

from assay.runtime.algorithm.grpo import Grpo
from assay.runtime.testing.algorithm import AlgorithmContract

Groups = Sequence[tuple[str, Sequence[float]]]


class Wrong(Grpo):
    """Grpo with something wrong about its advantages."""

    def advantages(self, groups: Groups) -> list[list[float]]:
        return [
            self.change(group, list(rewards))
            for group, (_, rewards) in zip(super().advantages(groups), groups, strict=True)
        ]

    def change(self, group: list[float], rewards: list[float]) -> list[float]:
        raise NotImplementedError


class Raw(Wrong):
    def change(self, group: list[float], rewards: list[float]) -> list[float]:
        return rewards


class Short(Wrong):
    def change(self, group: list[float], rewards: list[float]) -> list[float]:
        return group[1:]


class Dividing(Wrong):
    """Divides by almost nothing."""

    def change(self, group: list[float], rewards: list[float]) -> list[float]:
        return [value / (max(rewards) - min(rewards) - 1.0 or math.nan) for value in group]


class Ordered(Wrong):
    def change(self, group: list[float], rewards: list[float]) -> list[float]:
        return [value * (1 + index) for index, value in enumerate(group)]


class Inverted(Wrong):
    def change(self, group: list[float], rewards: list[float]) -> list[float]:
        return [-value for value in group]


class Noisy(Wrong):
    def change(self, group: list[float], rewards: list[float]) -> list[float]:
        return [value or 1e-12 for value in group]


class Lenient(Grpo):
    def advantages(self, groups: Groups) -> list[list[float]]:
        return [[0.0] * len(rewards) for _, rewards in groups]


class Mixing(Grpo):
    """Divides by the standard deviation of the whole batch."""

    def advantages(self, groups: Groups) -> list[list[float]]:
        largest = max(abs(reward) for _, rewards in groups for reward in rewards) or 1.0
        return [[value / largest for value in group] for group in Grpo(normalize=False).advantages(groups)]


class Optional(Grpo):
    def __init__(self, **options: float) -> None:
        super().__init__()
        self.loss_options |= options


CASES = {(1.0, 0.0): (1.0, -1.0)}


@pytest.mark.parametrize(
    ("clause", "target", "must", "attributes"),
    [
        ("test_cases_give_the_advantages_they_must", Raw, "must give [1.0, -1.0]", {"cases": CASES}),
        ("test_cases_give_the_advantages_they_must", Grpo, "must have cases", {}),
        ("test_every_sibling_gets_a_finite_advantage", Short, "one advantage per sibling", {}),
        ("test_every_sibling_gets_a_finite_advantage", Dividing, "must be finite", {}),
        ("test_a_group_that_cannot_be_compared_is_refused", Lenient, "must be refused", {}),
        ("test_order_changes_nothing", Ordered, "order must change no advantage", {}),
        ("test_domains_do_not_touch_each_other", Mixing, "another domain must change no", {}),
        ("test_groups_do_not_touch_each_other", Mixing, "other groups must change no", {}),
        ("test_a_higher_reward_is_no_worse", Inverted, "must have no lower advantage", {}),
        ("test_equal_rewards_teach_nothing", Noisy, "must have no advantage", {}),
        ("test_only_differences_count", Raw, "must teach nothing", {}),
        ("test_its_loss_options_are_read", Optional, "one that the loss reads", {"options": {"clip": 0.2}}),
        ("test_its_loss_options_are_read", Optional, "must be finite", {"options": {"clip_low": math.nan}}),
        ("test_the_gradient_raises_what_was_better", Inverted, "must fall as the better", {}),
        ("test_extreme_ratios_stay_finite", Optional, "must be finite", {"options": {"clip_high": math.nan}}),
    ],
)
def test_a_wrong_algorithm_turns_its_clause_red(
    clause: str, target: Any, must: str, attributes: dict[str, Any]
) -> None:
    assert must in breaks(AlgorithmContract, clause, target, **attributes)


def test_a_loss_that_counts_padding_turns_its_clause_red(monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.runtime.trainer import loss

    def padded(policy: Any, entropy: Any, batch: Any, options: Any) -> Any:
        found = plain(policy, entropy, batch, options)
        return found._replace(denominator=found.denominator * 0 + policy.numel())

    plain = loss.policy_loss
    monkeypatch.setattr(loss, "policy_loss", padded)
    assert "must change no sum" in breaks(AlgorithmContract, "test_padding_and_sharding_change_nothing", Grpo)


def test_a_scale_of_the_domain_may_be_shared() -> None:
    clause = "test_groups_do_not_touch_each_other"
    assert "other groups must change" in breaks(AlgorithmContract, clause, Grpo, options={"scope": "domain"})
