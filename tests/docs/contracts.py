"""The part of docs/testing.md that lists every contract, written from the contracts themselves.

python -m tests.docs.contracts    # writes it again
"""

import inspect
import re
from pathlib import Path

from assay import testing
from assay.core.hook import NAMED
from assay.testing import Contract

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
BEGIN = "## What every contract tries\n"


def contract_of(kind: str) -> type[Contract] | None:
    """Return the contract of a kind; None where there is none."""
    return getattr(testing, "".join(word.title() for word in kind.split("_")) + "Contract", None)


def listing() -> str:
    """Return the text of the part."""
    common = _clauses(Contract)
    parts = [BEGIN, "Whatever the kind:\n", *_lines(Contract, common)]
    for kind in NAMED.values():
        contract = contract_of(kind)
        if contract is None:
            continue
        own = [name for name in _clauses(contract) if name not in common]
        parts += ["", f"## {kind}\n", f"`{contract.__name__}` takes\n"]
        parts += [f"* `{name}`: {text}" for name, text in _attributes(contract)]
        parts += ["\nIt tries:\n", *_lines(contract, own)]
    return "\n".join(parts) + "\n"


def _clauses(contract: type[Contract]) -> list[str]:
    """Return the clauses in the order pytest runs them: those of a base first."""
    names = [name for base in reversed(contract.__mro__) for name in vars(base) if name.startswith("test_")]
    return list(dict.fromkeys(names))


def _lines(contract: type[Contract], clauses: list[str]) -> list[str]:
    return [
        f"* *{name.removeprefix('test_').replace('_', ' ')}*: {_sentence(getattr(contract, name))}" for name in clauses
    ]


def _sentence(item: object) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((inspect.getdoc(item) or "").partition("\n\n")[0].split())


def _attributes(contract: type[Contract]) -> list[tuple[str, str]]:
    """Return the attributes that docstrings declare, those of the contract first."""
    found: dict[str, str] = {}
    for base in contract.__mro__:
        if base is Contract or not issubclass(base, Contract):
            continue
        section = (inspect.getdoc(base) or "").partition("Attributes:\n")[2]
        for name, text in re.findall(r"(?ms)^    (\w+): (.*?)(?=^    \w+: |\Z)", section):
            found.setdefault(name, " ".join(text.split()))
    return list(found.items())


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text().partition(BEGIN)[0] + listing())
