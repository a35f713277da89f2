"""The contract of an algorithm: from the rewards of groups to advantages, and to the loss they are trained with.

An algorithm is tried on sampled groups with a fixed seed, and its loss options on a toy batch with the real loss. That
it learns faster than another one is not claimed. The clauses about the loss need the extra `train`.
"""

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from assay.core.algorithm import Algorithm
from assay.core.error import GroupError
from assay.core.leaf import Factory
from assay.runtime.testing.factory import FactoryContract

Groups = Sequence[tuple[str, Sequence[float]]]

_SLACK = 1e-6


class AlgorithmContract(FactoryContract):
    """What holds of an algorithm.

    Attributes:
        algorithm: Factory of the algorithm.
        cases: Rewards of one group, and the advantages that they must give, worked out by hand.
        is_relative: An advantage compares a reward with those of its siblings: a group of equal rewards has none, and
            adding the same to all changes nothing. False where there is another baseline.
        is_scaled_by_domain: The other groups of a domain in the batch set a group's scale. Never those of another one.
    """

    kind = "algorithm"
    algorithm: ClassVar[Factory]
    cases: ClassVar[Mapping[tuple[float, ...], Sequence[float]]] = {}
    is_relative: ClassVar[bool] = True
    is_scaled_by_domain: ClassVar[bool] = False

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Leave out what siblings say where another baseline does."""
        names = ("test_equal_rewards_teach_nothing", "test_only_differences_count")
        return () if cls.is_relative else names

    def test_cases_give_the_advantages_they_must(self) -> None:
        """Each of the author's cases, which nobody but the author can work out."""
        self.require(self.cases, "a contract must have cases", todo="Add `cases={(1.0, 0.0): (0.5, -0.5)}`")
        for rewards, expected in self.cases.items():
            (found,) = self._advantages([("a", rewards)])
            self.require(_are_close(found, expected), f"rewards {rewards} must give {list(expected)}", got=found)

    def test_every_sibling_gets_a_finite_advantage(self) -> None:
        """One finite number per sibling, in order, for small and large and almost equal rewards."""
        for groups in batches():
            found = self._advantages(groups)
            sizes = [len(rewards) for _, rewards in groups]
            self.require(
                [len(one) for one in found] == sizes,
                "an algorithm must return one advantage per sibling",
                got=f"{[len(one) for one in found]} for groups of {sizes}",
            )
            strange = [value for one in found for value in one if not math.isfinite(value)]
            self.require(not strange, "advantages must be finite", got=f"{strange[:3]} for {groups}")

    def test_a_group_that_cannot_be_compared_is_refused(self) -> None:
        """Fewer than two siblings, or a reward that is not finite, is a GroupError: nothing is made up for it.

        A sibling without a verdict never comes here: the coordinator leaves it out, so what it would have earned can
        change nothing about the others.
        """
        for rewards in ([1.0], [], [1.0, math.nan], [1.0, math.inf]):
            try:
                found = self._advantages([("a", rewards)])
            except GroupError:
                continue
            self.broken(f"a group of {rewards} must be refused with a GroupError", got=found)

    def test_order_changes_nothing(self) -> None:
        """Siblings and groups in another order get the same advantages, in that order."""
        rng = random.Random(3)
        for groups in batches():
            plain = self._advantages(groups)
            order = rng.sample(range(len(groups)), len(groups))
            inner = [rng.sample(range(len(groups[place][1])), len(groups[place][1])) for place in order]
            mixed = [
                (groups[place][0], [groups[place][1][index] for index in indices])
                for place, indices in zip(order, inner, strict=True)
            ]
            for place, indices, found in zip(order, inner, self._advantages(mixed), strict=True):
                expected = [plain[place][index] for index in indices]
                self.require(_are_close(found, expected), "order must change no advantage", got=(expected, found))

    def test_domains_do_not_touch_each_other(self) -> None:
        """Groups of other domains in the batch change nothing: rewards of two domains have scales of their own."""
        for groups in batches():
            for name in sorted({name for name, _ in groups}):
                own = [(one, rewards) for one, rewards in groups if one == name]
                alone = self._advantages(own)
                together = [
                    found for (one, _), found in zip(groups, self._advantages(groups), strict=True) if one == name
                ]
                for expected, found in zip(alone, together, strict=True):
                    self.require(
                        _are_close(found, expected),
                        "groups of another domain must change no advantage",
                        got=f"{found[:4]} beside them, {expected[:4]} alone",
                    )

    def test_groups_do_not_touch_each_other(self) -> None:
        """Other groups change nothing, unless the algorithm scales by domain."""
        for groups in batches():
            if self.is_scaled_by_domain:
                groups = [(f"{name}{number}", rewards) for number, (name, rewards) in enumerate(groups)]
            for group, found in zip(groups, self._advantages(groups), strict=True):
                (expected,) = self._advantages([group])
                self.require(
                    _are_close(found, expected), "other groups must change no advantage", got=(expected, found)
                )

    def test_a_higher_reward_is_no_worse(self) -> None:
        """Inside a group, advantages are in the order of rewards."""
        for groups in batches():
            for (_, rewards), found in zip(groups, self._advantages(groups), strict=True):
                pairs = sorted(zip(rewards, found, strict=True))
                falls = [
                    (low, high)
                    for low, high in itertools.pairwise(pairs)
                    if high[0] > low[0] and high[1] < low[1] - _SLACK
                ]
                self.require(not falls, "a higher reward must have no lower advantage", got=falls[:1])

    def test_equal_rewards_teach_nothing(self) -> None:
        """A group without spread has advantages of exactly 0, so that rounding is never magnified into a gradient."""
        for value in (0.0, 1.0, 0.1, -3.3, 1e-300, 1e300):
            for size in (2, 3, 8):
                (found,) = self._advantages([("a", [value] * size)])
                self.require(found == [0.0] * size, f"{size} rewards of {value} must have no advantage", got=found)

    def test_only_differences_count(self) -> None:
        """The same added to all rewards of a group changes nothing, up to rounding."""
        for batch in batches(largest=10.0):
            # What is left of a difference in the last digits is not the same after an addition.
            groups = [(name, rewards) for name, rewards in batch if not 0.0 < max(rewards) - min(rewards) < _SLACK]
            moved = [(name, [reward + 8.0 for reward in rewards]) for name, rewards in groups]
            for expected, found in zip(self._advantages(groups), self._advantages(moved), strict=True):
                self.require(
                    _are_close(found, expected, 1e-4), "what all siblings get must teach nothing", got=(expected, found)
                )

    def test_its_loss_options_are_read(self) -> None:
        """Every option is one that the trainer's loss reads, and a finite number."""
        from assay.runtime.trainer.loss import POLICY_OPTIONS

        options = self._made().loss_options
        unknown = sorted(set(options) - set(POLICY_OPTIONS))
        self.require(
            not unknown,
            "a loss option must be one that the loss reads",
            got=unknown,
            todo=f"{', '.join(POLICY_OPTIONS)}",
        )
        strange = {name: value for name, value in options.items() if not math.isfinite(value)}
        self.require(not strange, "loss options must be finite", got=strange)

    def test_the_gradient_raises_what_was_better(self) -> None:
        """At ratio 1, tokens of a sibling with a higher reward become more likely, those of a lower one less."""
        (advantages,) = self._advantages([("a", [1.0, 0.0])])
        gradients, _ = self._loss(advantages, [0.0, 0.0])
        self.require(
            gradients[0] < 0.0 < gradients[1],
            "the loss must fall as the better sibling becomes more likely, and rise as the worse one does",
            got=f"gradients {gradients} at advantages {advantages}",
        )

    def test_extreme_ratios_stay_finite(self) -> None:
        """Tokens that have become far more or far less likely give a finite loss and gradient."""
        (advantages,) = self._advantages([("a", [1.0, 0.0])])
        for change in (-200.0, -30.0, 30.0):
            gradients, loss = self._loss(advantages, [change, change])
            is_finite = math.isfinite(loss) and all(map(math.isfinite, gradients))
            self.require(
                is_finite, "loss and gradient must be finite", got=f"{loss}, {gradients} at a change of {change}"
            )

    def test_padding_and_sharding_change_nothing(self) -> None:
        """Summed loss over denominator is the same for one micro-batch, two, and one with padding."""
        (advantages,) = self._advantages([("a", [1.0, 0.25, 0.0])])
        changes = [0.1, -0.2, 0.3]
        whole = self._sums(advantages, changes)
        parts = [self._sums([advantage], [change]) for advantage, change in zip(advantages, changes, strict=True)]
        split = tuple(map(sum, zip(*parts, strict=True)))
        padded = self._sums(advantages, changes, padding=5)
        for found in (split, padded):
            self.require(_are_close(found, whole, 1e-5), "padding and sharding must change no sum", got=(whole, found))

    def _made(self) -> Algorithm:
        made: Algorithm = self.make()
        return made

    def _advantages(self, groups: Groups) -> list[list[float]]:
        return self._made().advantages(groups)

    def _loss(self, advantages: Sequence[float], changes: Sequence[float]) -> tuple[list[float], float]:
        """Return the gradient of each sequence's first token, and the loss."""
        policy_BT, loss = self._toy(advantages, changes)
        loss.objective.backward()
        return policy_BT.grad[:, 0].tolist(), float(loss.objective.detach())

    def _sums(self, advantages: Sequence[float], changes: Sequence[float], padding: int = 0) -> tuple[float, float]:
        _, loss = self._toy(advantages, changes, padding)
        return float(loss.objective.detach()), float(loss.denominator)

    def _toy(self, advantages: Sequence[float], changes: Sequence[float], padding: int = 0) -> tuple[Any, Any]:
        """Return log-probs with gradient, and the real loss: sequences of three tokens, the last of the prompt's."""
        import torch

        from assay.runtime.trainer.batch import MicroBatch
        from assay.runtime.trainer.loss import POLICY_OPTIONS, policy_loss

        B, T = len(advantages), 3 + padding
        mask_BT = torch.zeros(B, T)
        mask_BT[:, :2] = 1.0
        behavior_BT = torch.full((B, T), -1.0)
        policy_BT = (behavior_BT + torch.tensor(changes).unsqueeze(1)).requires_grad_()
        advantages_BT = torch.tensor(advantages, dtype=torch.float32).unsqueeze(1) * mask_BT
        tokens_BT, zeros_BT = torch.zeros(B, T, dtype=torch.int64), torch.zeros(B, T)
        trained_N = mask_BT.t().reshape(-1).nonzero().squeeze(1)
        batch = MicroBatch(tokens_BT, tokens_BT, mask_BT, behavior_BT, advantages_BT, zeros_BT, None, trained_N)
        return policy_BT, policy_loss(policy_BT, zeros_BT, batch, {**POLICY_OPTIONS, **self._made().loss_options})


def batches(largest: float = 1e6) -> Iterator[list[tuple[str, list[float]]]]:
    """Yield batches of groups: of one domain and several, with rewards of many scales."""
    rng = random.Random(5)
    yield [("a", [0.0, 1.0])]
    yield [("a", [1.0, 1.0 + 1e-12, 1.0])]
    yield [("a", [1.0, 0.0, 0.0, 0.0]), ("b", [50.0, 70.0, 90.0]), ("a", [0.0, 0.0])]
    for _ in range(30):
        groups = []
        for _ in range(rng.randrange(1, 6)):
            scale = rng.choice([1e-3, 1.0, 10.0, largest])
            rewards = [round(rng.uniform(-1.0, 1.0) * scale * 8) / 8 for _ in range(rng.randrange(2, 9))]
            groups.append(
                (rng.choice("abc"), [float(rng.random() < 0.5) for _ in rewards] if scale == 1.0 else rewards)
            )
        yield groups


def _are_close(found: Sequence[float], expected: Sequence[float], slack: float = _SLACK) -> bool:
    return len(found) == len(expected) and all(
        math.isclose(one, other, rel_tol=slack, abs_tol=slack) for one, other in zip(found, expected, strict=True)
    )
