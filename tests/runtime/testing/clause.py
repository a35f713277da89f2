"""Which clauses a contract has, and which of them a test has seen red."""

from collections.abc import Iterable

from assay.testing import Contract

COMMON = {name for name in vars(Contract) if name.startswith("test_")}


def own_clauses(contract: type[Contract]) -> set[str]:
    """Return the clauses that a contract has beyond those of every kind."""
    return {name for name in dir(contract) if name.startswith("test_")} - COMMON


def unseen(contract: type[Contract], seen: Iterable[str]) -> set[str]:
    """Return the clauses that no test has seen red."""
    return own_clauses(contract) - set(seen)
