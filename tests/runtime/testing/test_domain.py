"""A domain that breaks a clause is told so; one that breaks none passes."""

from types import SimpleNamespace
from typing import Any

import pytest
from tests.runtime.testing.clause import unseen

import assay
from assay.core.declare import Domain
from assay.core.registry import Registry
from assay.runtime import builtin
from assay.runtime.source.rows import Rows
from assay.testing import DomainContract

WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"verify": {"ans": "text.equals(expected)"}}, "test_it_compiles_without_a_warning", "error[RX006]"),
    ({"verify": {"ans": "text.equals(expected)"}}, "test_its_examples_hold", "`assay check wrong` says what keeps it"),
    ({"summary": ""}, "test_it_says_what_it_does", "Add a docstring"),
    ({"examples": None}, "test_its_examples_hold", "must have examples"),
    (
        {"examples": [{"name": "half", "given": {"ans.equal": True}, "reward": 0.5}]},
        "test_its_examples_hold",
        "example `half` must hold, got ",
    ),
    ({"data": {"train": "wrong.rows()"}}, "test_rows_of_every_split_fit", "rows of `data.train` must fit"),
    ({"controls": {"nop": {"answer": "", "reward": "< 0.1"}}}, "test_its_controls_hold", "got nop < 0.1"),
    (
        {
            "controls": {
                "oracle": {"answer": "{expected}", "reward": "> 0.9"},
                "cheat": {"answer": "x", "reward": "> 0"},
            }
        },
        "test_its_controls_hold",
        "control `cheat` must hold, got train[0]: ",
    ),
]


@assay.source("wrong.rows", version=1)
def unfit() -> Rows:
    """Rows of another domain."""
    return Rows([{"question": 3, "expected": "3"}])


def declare(**changed: Any) -> Registry:
    """Return a registry with one domain that is sound but for what is changed."""
    given: dict[str, Any] = {
        "domain": "wrong",
        "version": 1,
        "summary": "Add.",
        "fields": {"question": "str", "expected": "str"},
        "data": {"train": [{"question": "1+1", "expected": "2"}]},
        "prompt": "{question}",
        "verify": {"ans": "text.equal(expected)"},
        "reward": {"outcome": {"correct": "1.0*ans.equal"}},
        "examples": [{"name": "right", "given": {"ans.equal": True}, "reward": 1.0}],
        "controls": {
            "oracle": {"answer": "{expected}", "reward": "> 0.9"},
            "nop": {"answer": "", "reward": "< 0.1"},
        },
    }
    given |= changed
    domain = Domain(**{key: value for key, value in given.items() if value is not None})
    registry = Registry()
    registry.add(builtin, "assay-rl", assay.__version__)
    plugin = SimpleNamespace(
        assay_domains=assay.hookimpl(lambda: [domain]), assay_sources=assay.hookimpl(lambda: [unfit])
    )
    registry.add(plugin, "assay-wrong", "1.0")
    assert [] == registry.failures
    return registry


@pytest.mark.parametrize(("changed", "clause", "said"), WRONG)
def test_wrong_domain_breaks_its_clause(changed: dict[str, Any], clause: str, said: str, breaks: Any) -> None:
    message = breaks(DomainContract.of("wrong", registry=declare(**changed)), clause)
    assert said in message
    assert "at domain `wrong` of assay-wrong 1.0" in message


def test_every_clause_was_seen_red() -> None:
    assert set() == unseen(DomainContract, [clause for _, clause, _ in WRONG])


@pytest.mark.slow
@pytest.mark.usefixtures("site")
def test_right_domain_breaks_no_clause(holds: Any) -> None:
    assert len(holds(DomainContract.of("wrong", registry=declare()))) >= 7


def test_domain_that_nobody_declares_is_told_so_with_the_nearest_names(breaks: Any) -> None:
    contract = DomainContract.of("wrnog", registry=declare())
    said = breaks(contract, "test_it_is_installed_and_its_name_is_its_own")
    assert "must be declared by one installed package, got unknown domain `wrnog`" in said
    assert "wrong" in said
