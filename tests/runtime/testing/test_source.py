"""A source that breaks a clause is told so; one that breaks none passes."""

from types import ModuleType
from typing import Any

import pytest
from tests.runtime.testing.clause import unseen

from assay.core.registry import Registry
from assay.testing import SourceContract

GIVEN: dict[str, Any] = {"arguments": {"size": 20}, "fields": {"question": "str"}}
WRONG = [
    ("bare", "test_its_declaration_can_be_read", "parameters must be annotated, got size"),
    ("shut", "test_it_states_how_many_rows_there_are", "a source must open, got OSError: no disk"),
    ("endless", "test_it_states_how_many_rows_there_are", "got {'question': '0'} at 20 of 20"),
    (
        "unfit",
        "test_every_row_fits_the_fields",
        "row 19 of train must fit its fields, got field `question` must be str",
    ),
    ("unsendable", "test_every_row_fits_the_fields", "got must be plain data"),
    ("walking", "test_order_of_reading_changes_no_row", "also read backwards, got {'question': '"),
    ("shared", "test_order_of_reading_changes_no_row", "also after a reader changed its copy, got {}"),
    ("hashed", "test_every_process_reads_the_same_rows", "also with PYTHONHASHSEED=1"),
    ("leaking", "test_training_and_evaluation_share_no_row", "got 20 of 20 in both"),
    ("stubborn", "test_another_seed_gives_other_rows", "another `seed` must give other rows"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "clause", "said"), WRONG)
def test_wrong_source_breaks_its_clause(
    name: str, clause: str, said: str, wrong: ModuleType, registry: Registry, breaks: Any
) -> None:
    contract = SourceContract.of(getattr(wrong.source, name), registry=registry, seed="seed", **GIVEN)
    message = breaks(contract, clause)
    assert said in message
    assert f"at source `wrong.{name}` v1 of assay-wrong 1.0" in message


def test_every_clause_was_seen_red() -> None:
    assert set() == unseen(SourceContract, [clause for _, clause, _ in WRONG])


@pytest.mark.slow
def test_right_source_breaks_no_clause(wrong: ModuleType, registry: Registry, holds: Any) -> None:
    contract = SourceContract.of(wrong.source.right, registry=registry, seed="seed", size=20, **GIVEN)
    assert len(holds(contract)) >= 11


def test_size_and_fields_are_held_against_what_is_said(wrong: ModuleType, registry: Registry, breaks: Any) -> None:
    contract = SourceContract.of(wrong.source.right, registry=registry, size=21, **GIVEN)
    assert "must have 21 rows, got 20" in breaks(contract, "test_it_states_how_many_rows_there_are")
    contract = SourceContract.of(wrong.source.right, registry=registry, arguments={"size": 20})
    assert "must state the fields of a row" in breaks(contract, "test_every_row_fits_the_fields")


def test_splits_and_seeds_are_asked_for_where_there_are_any(wrong: ModuleType) -> None:
    contract = SourceContract.of(wrong.source.stubborn)
    assert contract.test_training_and_evaluation_share_no_row is None
    assert contract.test_another_seed_gives_other_rows is None
