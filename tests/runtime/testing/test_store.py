"""Every clause of the contract of stores turns red for a store that breaks it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from red import breaks
from wrong_store import (
    Blind,
    Brittle,
    Careless,
    Forgetful,
    Lazy,
    Obliging,
    Selfish,
    Trusting,
    Uneven,
)

from assay.runtime.store.local import LocalStore
from assay.runtime.testing.store import StoreContract

RED = [
    ("test_what_was_put_is_given_back", Uneven, "a reference must hold digest and length"),
    ("test_a_writer_reads_its_own_bytes_before_they_are_synced", Blind, "a store must give what was put"),
    ("test_every_handle_reads_what_was_synced", Selfish, "a store must give what was put"),
    ("test_a_writer_that_comes_back_goes_on", Forgetful, "a store must give what was put"),
    ("test_what_was_synced_survives_a_kill", Lazy, "a store must give what was put"),
    ("test_what_is_not_there_is_a_store_error", Obliging, "what is not there must be a StoreError"),
    ("test_what_is_not_there_is_a_store_error", Careless, "what is not there must be a StoreError"),
    ("test_a_torn_end_takes_nothing_else_with_it", Brittle, "a store must give what was put"),
    ("test_changed_bytes_are_never_given", Trusting, "what is not there must be a StoreError"),
]


@pytest.mark.parametrize(("clause", "wrong", "must"), RED, ids=[f"{one[1].__name__}" for one in RED])
def test_wrong_store_breaks_its_clause(clause: str, wrong: type, must: str) -> None:
    assert must == breaks(StoreContract, clause, wrong)


def test_store_without_files_is_not_damaged() -> None:
    from assay.core.leaf import Factory

    contract = StoreContract.of(Factory("remote", LocalStore, "Elsewhere."), has_files=False)
    assert contract.test_changed_bytes_are_never_given is None
