"""CU001: what of a curriculum can never begin, by arithmetic alone."""

from collections.abc import Collection, Mapping

from assay.dsl.expr.node import Expr, Logic, Signal, walk


def closed_entries(unlocks: Mapping[str, Expr | None], played: Collection[str]) -> dict[str, str]:
    """Return the entries that wait for themselves or for what is never played, each with the entry it waits for.

    A rule is not fulfilled while something it names is unmeasured, and only an open entry is measured.

    Args:
        unlocks: Rule of each entry; None is open from the start.
        played: Entries that some stage of reinforcement gives a share.
    """
    opened = {name for name, rule in unlocks.items() if rule is None and name in played}
    while True:
        more = {
            name
            for name, rule in unlocks.items()
            if rule is not None and name not in opened and name in played and _can_hold(rule, opened)
        }
        if not more:
            break
        opened |= more
    return {
        name: next(owner for owner in _owners(rule) if owner not in opened)
        for name, rule in unlocks.items()
        if rule is not None and not _can_hold(rule, opened)
    }


def _can_hold(rule: Expr, measured: Collection[str]) -> bool:
    if isinstance(rule, Logic):
        parts = [_can_hold(item, measured) for item in rule.items]
        return any(parts) if rule.sign == "or" else all(parts)
    return all(owner in measured for owner in _owners(rule))


def _owners(rule: Expr) -> list[str]:
    return [part.owner for part in walk(rule) if isinstance(part, Signal)]
