"""A verifier that breaks a clause is told so; one that breaks none passes; one that declares otherwise is not asked."""

import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest
from tests.runtime.testing.clause import unseen

from assay.core.judge import JudgeReply, JudgeRequest
from assay.core.registry import Registry
from assay.runtime.testing import bench, hazard, worker
from assay.testing import Case, VerifierContract

CASES = [Case("a", {"expected": "a"}, {"equal": True}), Case("b", {"expected": "a"}, {"equal": False})]
FEW = {"nothing": "", "line ends": "\n\r x", "long": "x" * 2000}
WRONG = [
    ("bare", "test_its_declaration_can_be_read", "parameters must be annotated, got expected"),
    ("silent", "test_its_declaration_can_be_read", "every signal must say what it measures, got equal"),
    ("hasty", "test_its_declaration_can_be_read", "got timeout 10 s, cost 20 s"),
    ("inverted", "test_cases_give_the_signals_they_must", "must give {'equal': True}, got {'equal': False}"),
    ("refusing", "test_whatever_the_answer_is_there_are_signals", "AssertionError:  at "),
    ("refusing", "test_whatever_the_answer_is_there_are_signals", "With no answer: None with {'expected': 'a'}"),
    ("outside", "test_whatever_the_answer_is_there_are_signals", "signal `size` must lie in int[0, 2097152], got -1"),
    ("hanging", "test_whatever_the_answer_is_there_are_signals", "must return within its timeout, or say with"),
    ("encoding", "test_half_a_character_raises_nothing", "got UnicodeEncodeError: 'utf-8' codec"),
    ("salted", "test_equal_input_gives_equal_signals_in_any_order", "also after a fresh process, got {'equal': True"),
    ("counting", "test_equal_input_gives_equal_signals_in_any_order", "also after the other order, got {'equal': True"),
    ("slow", "test_calls_take_no_longer_than_declared", "declared cost of 1 ms, at most 10, got 3"),
    ("salted", "test_hang_in_its_process_is_ended_and_it_answers_as_before", "also after its process met `hang`"),
    ("salted", "test_crash_of_its_process_does_not_hurt_the_next_call", "also after its process met `crash`"),
    ("counting", "test_huge_output_does_not_hurt_the_next_call", "also after its process met `output`"),
    ("counting", "test_fork_bomb_leaves_no_process", "also after its process met `nothing`"),
]
ASKS = [Case(None, {"question": "Is it kind?"})]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "clause", "said"), WRONG)
def test_wrong_verifier_breaks_its_clause(
    name: str, clause: str, said: str, wrong: ModuleType, registry: Registry, breaks: Any
) -> None:
    contract = VerifierContract.of(getattr(wrong.verifier, name), registry=registry, cases=CASES, hostile=FEW)
    message = breaks(contract, clause)
    assert said in message
    assert f"at verifier `wrong.{name}` v1 of assay-wrong 1.0" in message


def test_every_clause_was_seen_red() -> None:
    assert {"test_people_can_answer_its_questions"} == unseen(VerifierContract, [clause for _, clause, _ in WRONG])


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("talker", {}, "must have the one signal `mark`, a float from 0 to 1, got equal bool, size int[0, 2097152]"),
        ("curious", {}, "its parameters must be among question, low, high, patience, got answer"),
        ("person", {"question": ""}, "must make a question, got ValueError: a question must have a text, got ''"),
        ("person", {"low": 2}, "a question must have low < high, got 2 and 1"),
        ("person", {"low": "much"}, "must make a question, got ValueError"),
        ("person", {"patience": "soon"}, "must make a question, got"),
        ("person", {"patience": "200h"}, "patience must be above 0 and at most 168h"),
    ],
)
def test_what_people_cannot_answer_is_told(
    name: str, arguments: dict[str, Any], said: str, wrong: ModuleType, registry: Registry, breaks: Any
) -> None:
    cases = [*ASKS, Case(None, {"question": "Is it kind?", **arguments})]
    contract = VerifierContract.of(getattr(wrong.verifier, name), registry=registry, cases=cases)
    assert said in breaks(contract, "test_people_can_answer_its_questions")


def test_person_is_never_called_and_clauses_of_ones_own_stay(wrong: ModuleType, registry: Registry, holds: Any) -> None:
    class Asked(VerifierContract):
        verifier = wrong.verifier.person
        cases = ASKS

        def test_it_is_mine(self) -> None:
            assert self.cases

    Asked.registry = registry
    assert {
        "test_a_worker_finds_it_again",
        "test_declaring_it_is_light",
        "test_it_is_installed_and_its_name_is_its_own",
        "test_it_is_mine",
        "test_it_says_what_it_does",
        "test_its_declaration_can_be_read",
        "test_people_can_answer_its_questions",
    } == set(holds(Asked))
    assert VerifierContract.of(wrong.verifier.right, registry=registry).test_people_can_answer_its_questions is None


@pytest.mark.slow
def test_right_verifier_breaks_no_clause(wrong: ModuleType, registry: Registry, holds: Any) -> None:
    assert len(holds(VerifierContract.of(wrong.verifier.right, registry=registry, cases=CASES))) >= 14


@pytest.mark.slow
def test_timeout_that_earns_signals_is_no_fault(wrong: ModuleType, registry: Registry) -> None:
    contract = VerifierContract.of(wrong.verifier.excused, registry=registry, cases=CASES, hostile=FEW)
    contract().test_whatever_the_answer_is_there_are_signals()
    contract.teardown_class()


@pytest.mark.slow
def test_verifier_that_declares_itself_random_is_held_to_no_equal_signals(
    wrong: ModuleType, registry: Registry
) -> None:
    contract = VerifierContract.of(wrong.verifier.dice, registry=registry, cases=CASES, hostile=FEW)
    assert contract.test_equal_input_gives_equal_signals_in_any_order is None
    contract().test_huge_output_does_not_hurt_the_next_call()
    contract.teardown_class()


def test_contract_without_cases_and_case_with_an_unknown_signal_are_told_so(
    wrong: ModuleType, registry: Registry, breaks: Any
) -> None:
    clause = "test_cases_give_the_signals_they_must"
    said = breaks(VerifierContract.of(wrong.verifier.right, registry=registry), clause)
    assert "a contract must have cases - at verifier `wrong.none` v1 of assay-wrong 1.0. Add `cases" in said
    cases = [Case("a", {"expected": "a"}, {"equals": True})]
    said = breaks(VerifierContract.of(wrong.verifier.right, registry=registry, cases=cases), clause)
    assert "must name signals that are declared, got equals" in said


def test_hazards_are_what_they_are_called(wrong: ModuleType, registry: Registry) -> None:
    """A clause proves nothing where the hazard beside the leaf does no harm."""
    ref = registry.find("verifier", "wrong.none").ref
    made = bench.LeafBench(ref, wrong.verifier.right)
    try:
        outcomes = {how: made.endanger(how, 0.2)[0] for how in ("hang", "crash", "exit")}
    finally:
        made.close()
    assert outcomes["hang"].is_timeout
    assert "SIGSEGV" in outcomes["crash"].detail
    assert "exited with 0" in outcomes["exit"].detail


def test_processes_that_a_bomb_left_are_found_by_name() -> None:
    name = f"{hazard.MARK}0"
    program = f"import ctypes; ctypes.CDLL(None).prctl(15, {name.encode()!r}, 0, 0, 0); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert [process.pid] == worker.processes(name)
        process.kill()
    assert [] == worker.processes(name)


@pytest.mark.slow
def test_verifier_that_asks_for_a_box_is_tried_in_one(wrong: ModuleType, registry: Registry, holds: Any) -> None:
    contract = VerifierContract.of(wrong.verifier.boxed, registry=registry, cases=CASES, hostile=FEW)
    assert "test_whatever_the_answer_is_there_are_signals" in holds(contract)
    assert contract.test_half_a_character_raises_nothing is None


class Rule:
    """A judge that says yes where both words of a question are one."""

    identity = "rule"

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        one, _, other = request.messages[0][1].rpartition(" ")
        return JudgeReply("yes" if one == other else "no")

    async def close(self) -> None:
        pass


@pytest.mark.slow
def test_verifier_that_asks_a_judge_is_tried_with_one(wrong: ModuleType, registry: Registry, breaks: Any) -> None:
    contract = VerifierContract.of(wrong.verifier.asking, registry=registry, cases=CASES, hostile=FEW, judge=Rule)
    contract().test_cases_give_the_signals_they_must()
    contract().test_whatever_the_answer_is_there_are_signals()
    contract().test_crash_of_its_process_does_not_hurt_the_next_call()
    contract.teardown_class()
    alone = VerifierContract.of(wrong.verifier.asking, registry=registry, cases=CASES)
    said = breaks(alone, "test_fork_bomb_leaves_no_process")
    assert "that asks a judge must have one - at verifier `wrong.asking`" in said
