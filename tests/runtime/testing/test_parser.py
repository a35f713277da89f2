"""A parser that breaks a clause is told so; one that breaks none passes."""

from types import ModuleType
from typing import Any

import pytest
from tests.runtime.testing.clause import unseen

from assay.core.registry import Registry
from assay.testing import Case, ParserContract

CASES = [Case(" 4 ", gives="4"), Case("5", gives="5")]
FEW = {"nothing": "", "a word": "x", "a megabyte": "x" * 2**20}
WORKER = [
    "test_hang_in_its_process_is_ended_and_it_answers_as_before",
    "test_crash_of_its_process_does_not_hurt_the_next_call",
    "test_huge_output_does_not_hurt_the_next_call",
    "test_fork_bomb_leaves_no_process",
]
WRONG = [
    ("bare", "test_its_declaration_can_be_read", "parameters must be annotated, got text"),
    ("nameless", "test_its_declaration_can_be_read", "must take `text`, got said"),
    ("upper", "test_cases_give_the_answers_they_must", "case ' 4 ' must give '4', got ' 4 '"),
    ("raising", "test_whatever_the_text_is_there_is_an_answer_or_a_refusal", "ValueError: invalid literal for int()"),
    ("encoding", "test_half_a_character_raises_nothing", "got UnicodeEncodeError: 'utf-8' codec"),
    ("remembering", "test_same_text_gives_the_same_answer_in_any_order", "also after the other order"),
    ("growing", "test_an_answer_read_again_is_itself", "must be itself, got ' 4 !!' from ' 4 !'"),
    ("slow", "test_hostile_text_takes_little_time", "at most 0.2 s, got 0.3"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "clause", "said"), WRONG)
def test_wrong_parser_breaks_its_clause(
    name: str, clause: str, said: str, wrong: ModuleType, registry: Registry, breaks: Any
) -> None:
    plugin = getattr(wrong.parser, name)
    contract = ParserContract.of(plugin, registry=registry, cases=CASES, hostile=FEW, is_idempotent=True, longest_s=0.2)
    message = breaks(contract, clause)
    assert said in message
    assert f"at parser `wrong.{name}` v1 of assay-wrong 1.0" in message


def test_every_clause_was_seen_red() -> None:
    # Those on its process are the verifier's, and seen red there.
    assert set() == unseen(ParserContract, [*(clause for _, clause, _ in WRONG), *WORKER])


@pytest.mark.slow
def test_right_parser_breaks_no_clause(wrong: ModuleType, registry: Registry, holds: Any) -> None:
    contract = ParserContract.of(wrong.parser.right, registry=registry, cases=CASES, is_idempotent=True)
    assert set(WORKER) < set(holds(contract))


def test_idempotence_is_asked_for_where_it_is_claimed(wrong: ModuleType) -> None:
    assert ParserContract.of(wrong.parser.growing).test_an_answer_read_again_is_itself is None
