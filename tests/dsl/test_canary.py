"""Canaries: rows that nobody can solve. They are checked as other rows are, and say nothing about training."""

from pathlib import Path

from assay.core.registry import installed
from assay.dsl.change import classify
from assay.dsl.compile import Compiled, compile_bytes
from assay.dsl.program import parse_program, print_program

DOMAIN = """\
assay: 1
domain: demo.add
version: 1
fields: {question: str, expected: str}
data:
  train:
    - {question: "1+1", expected: "2"}
  eval:
    - {question: "2+2", expected: "4"}
%s
prompt: "{question}"
verify: {ans: text.equal(expected)}
reward:
  outcome: {right: 1.0*ans.equal}
"""
CANARY = """\
  canary:
    - {question: "which number do I think of?", expected: "7a0c"}
"""


def compiled(canary: str) -> Compiled:
    return compile_bytes((DOMAIN % canary).encode(), installed(), "add.yaml", Path())


def found(canary: str) -> list[tuple[str, str, int]]:
    return [(one.code, one.message, one.span.line) for one in compiled(canary).findings]


def test_canaries_change_no_digest() -> None:
    plain, guarded = compiled("").require(), compiled(CANARY).require()
    assert "canary" in guarded.data
    assert plain.digest == guarded.digest
    assert plain.digests == guarded.digests


def test_program_with_canaries_reads_back() -> None:
    program = compiled(CANARY).require()
    assert program == parse_program(print_program(program))


def test_canary_row_that_does_not_fit_is_found_where_it_stands() -> None:
    ((code, message, line),) = found(CANARY.replace(', expected: "7a0c"', ""))
    assert ("DA001", 11) == (code, line)
    assert "must have the field `expected`" in message


def test_canary_that_is_also_a_task_to_solve_is_an_error() -> None:
    ((code, message, line),) = found('  canary:\n    - {question: "2+2", expected: "4"}')
    assert ("DA001", 11) == (code, line)
    assert "row 0 must be a task that nobody can solve, and stands in data.eval too" == message


def test_rows_of_a_source_may_be_canaries(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "?"}\n')
    text = (DOMAIN % '  canary: jsonl("rows.jsonl")').encode()
    (one,) = compile_bytes(text, installed(), "add.yaml", tmp_path).findings
    assert ("DA001", 10) == (one.code, one.span.line)
    assert "must have the field `expected`" in one.message


def test_canary_that_stands_in_a_file_of_tasks_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(
        '{"question": "?", "expected": "x"}\n{"question": "3+3", "expected": "6", "n": 1}'
    )
    text = DOMAIN.replace('\n    - {question: "1+1", expected: "2"}', ' jsonl("rows.jsonl")')
    canary = CANARY + '    - {question: "3+3", expected: "6"}\n'
    (one,) = compile_bytes((text % canary).encode(), installed(), "add.yaml", tmp_path).findings
    assert ("DA001", 11) == (one.code, one.span.line)
    assert "row 1 must be a task that nobody can solve, and stands in data.train too" == one.message


def test_file_of_canaries_that_holds_a_task_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "2+2", "expected": "4"}\n')
    text = (DOMAIN % '  canary: jsonl("rows.jsonl")').encode()
    (one,) = compile_bytes(text, installed(), "add.yaml", tmp_path).findings
    assert ("DA001", 10) == (one.code, one.span.line)
    assert "row 0 must be a task that nobody can solve, and stands in data.eval too" == one.message


def test_new_canaries_cost_stored_episodes_nothing() -> None:
    plain, guarded = compiled("").require(), compiled(CANARY).require()
    assert "REUSE" == classify(plain, guarded).effect
