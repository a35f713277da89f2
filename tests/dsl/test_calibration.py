"""`calibration:` says how well a verification must agree with marked answers; what is wrong with it is found."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from assay.core.registry import Registry
from assay.dsl.compile import Compiled, compile_bytes
from assay.dsl.program import parse_program, print_program
from assay.runtime import builtin

DOMAIN = """\
assay: 1
domain: test.marked
version: 1
fields: {word: str, count: int}
data:
  train:
    - {word: one, count: 1}
prompt: "{word} {count}"
verify:
  said: text.equal(word)
  num: number.equal(count)
reward:
  outcome:
    correct: 0.5*said.equal + 0.5*num.equal
"""
ROW = "{task: {word: 1, count: 1}, answer: 2, expect: {equal: true}}"
Compile = Callable[..., Compiled]


@pytest.fixture(scope="module")
def builtins() -> Registry:
    registry = Registry()
    registry.add(builtin, "assay-rl", "0")
    return registry


@pytest.fixture
def compile_marked(builtins: Registry, tmp_path: Path) -> Compile:
    def run(calibration: str = "", marks: str = "") -> Compiled:
        (tmp_path / "marks.jsonl").write_text(marks)
        text = DOMAIN + (f"calibration:\n  {calibration}\n" if calibration else "")
        return compile_bytes(text.encode(), builtins, "case.yaml", tmp_path)

    return run


def test_written_rows_are_read_by_the_kinds_of_their_fields(compile_marked: Compile) -> None:
    program = compile_marked(f"said: {{data: [{ROW}], agreement: '>= 0.8'}}").require()
    assert isinstance(program.calibration, dict)
    found = program.calibration["said"]
    assert (">=", 0.8) == (found.sign, found.agreement)
    assert ({"task": {"word": "1", "count": 1}, "answer": "2", "expect": {"equal": True}},) == found.data.rows  # type: ignore[union-attr]


def test_calibration_changes_no_digest_and_survives_print(compile_marked: Compile) -> None:
    plain, marked = compile_marked(), compile_marked(f"said: {{data: [{ROW}], agreement: '>= 0.8'}}")
    assert plain.require().digest == marked.require().digest
    assert plain.require().digests == marked.require().digests
    assert b"calibration" not in print_program(plain.require())
    assert marked.require() == parse_program(print_program(marked.require()))
    assert msgspec.UNSET is parse_program(print_program(plain.require())).calibration


@pytest.mark.parametrize(
    ("calibration", "code", "message", "line"),
    [
        ("sad: {data: [%s], agreement: '>= 0.8'}", "RX001", "must name a verification, got `sad`", 16),
        ("trace: {data: [%s], agreement: '>= 0.8'}", "RX001", "must name a verification, got `trace`", 16),
        ("said: {data: [%s], agreement: '< 0.8'}", "YM003", "a least share of rows such as `>= 0.8`", 16),
        ("said: {data: [%s], agreement: '>= 80'}", "YM003", "a least share of rows such as `>= 0.8`", 16),
        ("said: {data: [%s]}", "YM002", "must have the key `agreement`", 16),
        ("said: {data: [], agreement: '>= 0.8'}", "DA001", "must hold at least one row", 16),
        ("said: {data: nosuch('x'), agreement: '>= 0.8'}", "RX006", "unknown source `nosuch`", 16),
        ("said: {data: jsonl('none.jsonl'), agreement: '>= 0.8'}", "DA001", "none.jsonl", 16),
    ],
)
def test_what_cannot_be_meant_is_found_at_its_place(
    compile_marked: Compile, calibration: str, code: str, message: str, line: int
) -> None:
    (found,) = compile_marked(calibration.replace("%s", ROW)).findings
    assert (code, line) == (found.code, found.span.line)
    assert message in found.message


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"answer": "x", "expect": {"equal": true}}', "row 1 of jsonl('marks.jsonl') must have `task`"),
        ('{"task": {"word": "a"}, "answer": "x", "expect": {"equal": true}}', "`task` must have the field `count`"),
        ('{"task": {"word": "a", "count": 1}, "answer": 3, "expect": {"equal": true}}', "`answer` must be a text"),
        ('{"task": {"word": "a", "count": 1}, "answer": "x", "expect": {}}', "`expect` must be a mapping of signals"),
        (
            '{"task": {"word": "a", "count": 1}, "answer": "x", "expect": {"eqal": true}}',
            "`expect` must name a signal, got `eqal`; did you mean `equal`?",
        ),
        (
            '{"task": {"word": "a", "count": 1}, "answer": "x", "expect": {"equal": ">= 1"}}',
            "`expect.equal` must be true or false",
        ),
    ],
)
def test_bad_row_of_a_local_source_is_found(compile_marked: Compile, row: str, message: str) -> None:
    good = '{"task": {"word": "a", "count": 1}, "answer": "x", "expect": {"said.equal": true}, "by": "ann"}\n'
    (found,) = compile_marked("said: {data: jsonl('marks.jsonl'), agreement: '>= 0.8'}", good + row + "\n").findings
    assert "DA001" == found.code
    assert message in found.message


def test_people_are_not_calibrated(builtins: Registry, tmp_path: Path) -> None:
    text = DOMAIN.replace("num: number.equal(count)", 'num: human.mark("Is it kind?")').replace("num.equal", "num.mark")
    text += (
        "calibration:\n  num: {data: [{task: {word: a, count: 1}, answer: x, expect: {mark: 1}}], agreement: '>= 1'}\n"
    )
    findings = compile_bytes(text.encode(), builtins, "case.yaml", tmp_path).findings
    assert ["`num` is answered by people, whom nothing calibrates"] == [
        f.message for f in findings if f.code == "RX003"
    ]


def test_rows_are_no_fault_of_another_verification(compile_marked: Compile) -> None:
    rows = ROW.replace("equal: true", "parsed: true, equal: false")
    assert () == compile_marked(f"num: {{data: [{rows}], agreement: '> 0'}}").findings
