"""Contracts that plugin authors run on their own plugins; each name is imported on first use.

    from assay.testing import Case, VerifierContract

    TestMatch = VerifierContract.of(match, cases=[Case("two one", {"expected": "two one"}, {"equal": True})])

See `assay.runtime.testing` for what a contract is, and docs/testing.md for all of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.runtime.testing.case import Case
    from assay.runtime.testing.contract import Contract, ContractBroken
    from assay.runtime.testing.hostile import HOSTILE
    from assay.runtime.testing.verifier import VerifierContract

__all__ = [
    "HOSTILE",
    "Case",
    "Contract",
    "ContractBroken",
    "VerifierContract",
]

_PUBLIC = {
    "HOSTILE": "assay.runtime.testing.hostile:HOSTILE",
    "Case": "assay.runtime.testing.case:Case",
    "Contract": "assay.runtime.testing.contract:Contract",
    "ContractBroken": "assay.runtime.testing.contract:ContractBroken",
    "VerifierContract": "assay.runtime.testing.verifier:VerifierContract",
}


if not TYPE_CHECKING:  # a type checker that sees a module's __getattr__ reports no misspelt name

    def __getattr__(name: str) -> object:
        if name not in _PUBLIC:
            raise AttributeError(f"module 'assay.testing' has no attribute {name!r}")
        from importlib import import_module

        module, _, attribute = _PUBLIC[name].partition(":")
        value = getattr(import_module(module), attribute)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
