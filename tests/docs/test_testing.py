"""The page on contracts lists every contract as it is, and every hook has a contract, an example and a place there."""

import tomllib
from pathlib import Path

import pytest
from tests.docs.contracts import PAGE, contract_of, listing

from assay.core.hook import NAMED

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", NAMED.values())
def test_every_hook_has_a_contract_an_example_and_a_section(kind: str) -> None:
    contract = contract_of(kind)
    assert contract is not None, f"assay.testing must have a contract of {kind}"
    assert kind == contract.kind
    example = ROOT / "examples" / kind
    files = {"pyproject.toml", "README.md", f"src/assay_example_{kind}/__init__.py", f"tests/test_{kind}.py"}
    assert set() == {file for file in files if not (example / file).is_file()}
    assert contract.__name__ in "".join(path.read_text() for path in example.glob("tests/*.py"))
    assert f"\n## {kind}\n" in PAGE.read_text()


def test_the_page_lists_contracts_as_they_are() -> None:
    assert PAGE.read_text().endswith(listing()), "write it again: python -m tests.docs.contracts"


def test_the_examples_are_listed_as_they_describe_themselves() -> None:
    table = (ROOT / "examples" / "README.md").read_text()
    for path in sorted((ROOT / "examples").glob("*/pyproject.toml")):
        description = tomllib.loads(path.read_text())["project"]["description"]
        assert f"| [{path.parent.name}]({path.parent.name}) | {description} |\n" in table
    assert len(NAMED) == table.count("\n| [")
