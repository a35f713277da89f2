"""A tool that breaks a clause is told so; one that breaks none passes."""

from types import ModuleType
from typing import Any

import pytest
from tests.runtime.testing.clause import unseen

from assay.core.registry import Registry
from assay.testing import ToolCase, ToolContract

CASES = [ToolCase({"query": "4"}, "4")]
WRONG = [
    ("bare", "test_its_declaration_tells_a_policy_how_to_call_it", "parameters must be annotated, got query"),
    ("number", "test_its_declaration_tells_a_policy_how_to_call_it", "must be annotated to return a text, got <"),
    ("odd", "test_its_declaration_tells_a_policy_how_to_call_it", "got where: any"),
    ("right", "test_cases_give_the_texts_they_must", "must give '4', got '1 of 3'"),
    ("number", "test_whatever_the_arguments_are_there_is_a_text", "a text whatever its arguments are, got 0"),
    ("raising", "test_whatever_the_arguments_are_there_is_a_text", "got ValueError: invalid literal"),
    ("dying", "test_whatever_the_arguments_are_there_is_a_text", "got exit status 3 at query="),
    ("hanging", "test_whatever_the_arguments_are_there_is_a_text", "got no end after 1 s at query=''"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "clause", "said"), WRONG)
def test_wrong_tool_breaks_its_clause(
    name: str, clause: str, said: str, wrong: ModuleType, registry: Registry, breaks: Any
) -> None:
    plugin = getattr(wrong.tool, name)
    longest_s = 1.0 if name == "hanging" else 60.0
    message = breaks(ToolContract.of(plugin, registry=registry, cases=CASES, longest_s=longest_s), clause)
    assert said in message
    assert f"at tool `{plugin.name}` v1 of assay-wrong 1.0" in message


def test_every_clause_was_seen_red() -> None:
    assert set() == unseen(ToolContract, [clause for _, clause, _ in WRONG])


@pytest.mark.slow
def test_right_tool_breaks_no_clause(wrong: ModuleType, registry: Registry, holds: Any) -> None:
    cases = [ToolCase({"query": "abc"}, "3 of 3"), ToolCase({"query": "abc", "most": 1}, "3 of 1")]
    assert len(holds(ToolContract.of(wrong.tool.right, registry=registry, cases=cases))) >= 7
