"""A function that breaks a clause is told so; one that breaks none passes."""

from types import ModuleType
from typing import Any

import pytest
from tests.runtime.testing.clause import unseen

from assay.core.registry import Registry
from assay.testing import FunctionContract

CASES = {(2.0,): 4.0}
WRONG = [
    ("budget", "test_its_name_is_not_one_of_the_language", "must not belong to the language, got budget"),
    ("case", "test_cases_give_the_values_they_must", "wrong_case(2) must be 4.0, got 6.0"),
    ("root", "test_every_value_is_a_number_and_stays_the_same", "got ValueError at wrong_root(-100)"),
    ("infinite", "test_every_value_is_a_number_and_stays_the_same", "wrong_infinite(100) must be a finite number"),
    ("restless", "test_every_value_is_a_number_and_stays_the_same", "must stay the same"),
    ("square", "test_direction_is_as_declared", "must keep to direction `up` in `x`, got wrong_direction(-"),
    ("wave", "test_range_holds_every_value", "every value must lie within [-0.5, 0.5], as declared"),
    ("column", "test_columns_have_the_values_of_rows", "column(-100.0,) must be -200.0, as row by row, got -50.0"),
]


@pytest.mark.parametrize(("name", "clause", "said"), WRONG)
def test_wrong_function_breaks_its_clause(
    name: str, clause: str, said: str, wrong: ModuleType, registry: Registry, breaks: Any
) -> None:
    plugin = getattr(wrong.function, name)
    message = breaks(FunctionContract.of(plugin, registry=registry, cases=CASES), clause)
    assert said in message
    assert f"at function `{plugin.name}` v1 of assay-wrong 1.0" in message


def test_every_clause_was_seen_red() -> None:
    assert set() == unseen(FunctionContract, [clause for _, clause, _ in WRONG])


@pytest.mark.slow
def test_right_function_breaks_no_clause(wrong: ModuleType, registry: Registry, holds: Any) -> None:
    assert len(holds(FunctionContract.of(wrong.function.right, registry=registry, cases=CASES))) >= 10


def test_declared_ends_are_kept_to(wrong: ModuleType, registry: Registry, holds: Any) -> None:
    contract = FunctionContract.of(wrong.function.root, registry=registry, between={"x": (0.0, 9.0)})
    contract().test_every_value_is_a_number_and_stays_the_same()
    contract().test_range_holds_every_value()
    assert contract.test_columns_have_the_values_of_rows is None
