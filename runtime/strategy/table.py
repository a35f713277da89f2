"""The figures of evaluations with several answers per task, for people."""

from collections.abc import Mapping
from typing import Any


def heading(found: Mapping[str, Any]) -> str:
    """Return what the answer that counts is called, such as `majority of 8`."""
    return "mean" if found["strategy"] == "none" else f"{found['strategy']} of {found['samples']}"


def sample_table(found: Mapping[str, Any], evaluation: str) -> list[tuple[str, ...]]:
    """Return one evaluation: a head, then one row per domain.

    Args:
        found: What `choice.choose` returned.
        evaluation: Its name.
    """
    rows: list[tuple[str, ...]] = [
        ("domain", heading(found), "pass@1", f"pass@{found['samples']}", "held out", "tokens per task")
    ]
    for name, one in found["evaluations"].get(evaluation, {}).items():
        shares = [_share(one[key]) for key in ("accuracy", "pass_at_1", "pass_at_n")]
        tokens = "-" if one["tokens_per_task"] is None else f"{one['tokens_per_task']:.0f}"
        rows.append((name, *shares, str(one["tasks"]), tokens))
    return rows


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
