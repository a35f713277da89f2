"""The curriculum as the compiler leaves it: plain structs with a content digest."""

from functools import cached_property
from typing import Any, Literal

import msgspec

from assay.core.digest import digest
from assay.dsl.expr.node import Expr
from assay.dsl.program import Use


class MixEntry(msgspec.Struct, frozen=True):
    """One entry of the mix; `share` is normalised, `unlock` None is open from the start."""

    domain: str
    share: float
    unlock: Expr | None = None
    sampler: Use | None = None


class Stage(msgspec.Struct, frozen=True):
    """One stage; `until` None never ends, `lr` and `batch` None are the trainer's."""

    name: str
    kind: Literal["rl", "sft"]
    until: Expr | None
    share: dict[str, float]
    batch: int | None = None
    lr: float | None = None
    warmup: int = 0
    decay: float = 0.0
    reset_optimizer: bool = True


class Budget(msgspec.Struct, frozen=True):
    """One line of `require:`, such as `judge_cost <= 0.02 USD`."""

    name: str
    sign: str
    value: float
    words: tuple[str, ...] = ()


class Curriculum(msgspec.Struct, frozen=True, dict=True):
    """A compiled curriculum.

    Attributes:
        mix: Entries by name, in order; shares sum to 1.
        balance: What a share is a share of.
        sampler: Of all entries without their own; None walks through every task.
        levels: Difficulty attributes per entry.
        admit: Groups for which it is false are refilled; None admits all.
        advantage: Scope of normalisation.
        stages: In order; at least one.
        require: Budgets.
    """

    edition: int
    name: str
    mix: dict[str, MixEntry]
    balance: Literal["episodes", "trained_tokens", "compute_s"]
    sampler: Use | None
    levels: dict[str, dict[str, Any]]
    admit: Expr | None
    advantage: Literal["per_group", "per_domain"]
    stages: tuple[Stage, ...]
    require: tuple[Budget, ...] = ()
    summary: str = ""

    @cached_property
    def digest(self) -> str:
        """Content digest; the domains have their own."""
        return digest(msgspec.structs.replace(self, summary=""))
