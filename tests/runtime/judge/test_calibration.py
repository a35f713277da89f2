"""A verification judges nobody before it agrees with people, and a run that would let it does not start."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from judge_domain import DOMAIN, plan_of, settings
from judge_server import JudgeServer, texts

from assay.core.error import GraderError
from assay.core.registry import Registry
from assay.runtime.cli import main
from assay.runtime.preflight.golden import require_golden

pytestmark = pytest.mark.slow

CALIBRATED = DOMAIN + 'calibration:\n  quality: {data: jsonl("marks.jsonl"), agreement: ">= 0.75"}\n'
EXACT = """\
assay: 1
domain: demo.exact
version: 1
fields: {word: str}
data:
  train:
    - {word: one}
prompt: "Say {word}."
answer: after("####")
verify:
  said: text.equal(word)
reward:
  gate:
    - {if: trace.parsed, else: 0.0}
  outcome:
    correct: 1.0*said.equal
calibration:
  said:
    agreement: "== 1"
    data:
      - {task: {word: one}, answer: "so #### one", expect: {equal: true}}
      - {task: {word: one}, answer: "so #### two", expect: {said.equal: false}}
      - {task: {word: one}, answer: "one", expect: {equal: false}}
"""
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, server: JudgeServer) -> Write:
    """Write marks: texts that people call kind, or not; the server thinks that long ones are."""
    server.mind = lambda prompt: str(min(10, len(texts(prompt)["answer"])))

    def write(*answers: tuple[str, bool], also: str = "") -> Path:
        rows = [
            {"task": {"question": "How are you?"}, "answer": text, "expect": {"score": ">= 0.5" if good else "< 0.5"}}
            for text, good in answers
        ]
        (tmp_path / "marks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + also)
        return tmp_path

    return write


AGREED = (("long and kind", True), ("no", False), ("as kind as that", True))


def test_judge_that_agrees_with_people_may_judge(write: Write, server: JudgeServer, registry: Registry) -> None:
    base = write(*AGREED, ("short", False))
    require_golden(plan_of(CALIBRATED, registry, settings(server.url), base), registry)
    assert 4 == len(server.bodies)


def test_judge_that_does_not_starts_no_run_and_the_rows_are_named(
    write: Write, server: JudgeServer, registry: Registry
) -> None:
    base = write(*AGREED, ("short", False), ("shorter", False))
    with pytest.raises(GraderError) as caught:
        require_golden(plan_of(CALIBRATED, registry, settings(server.url), base), registry)
    assert "AS011" == caught.value.error_code
    assert (
        "kind: calibration `quality`: agreement must be >= 0.75, got 0.6 (3 of 5 rows): "
        "marks[3] score < 0.5, got 0.5; marks[4] score < 0.5, got 0.7"
    ) == caught.value.got


def test_rows_that_cannot_be_measured_count_apart_and_start_no_run(
    write: Write, server: JudgeServer, registry: Registry
) -> None:
    base = write(*AGREED)
    server.trouble = ["400"]
    with pytest.raises(GraderError) as caught:
        require_golden(plan_of(CALIBRATED, registry, settings(server.url), base), registry)
    assert "1 of 3 rows could not be tried: marks[" in str(caught.value.got)
    assert "judge_error" in str(caught.value.got)


def test_changed_marks_are_read_where_they_lie(write: Write, server: JudgeServer, registry: Registry) -> None:
    base = write(*AGREED)
    plan = plan_of(CALIBRATED, registry, settings(server.url), base)
    write(*AGREED, also='{"task": {}, "answer": "x", "expect": {"score": 1}}\n')
    with pytest.raises(GraderError, match=r"marks\[3\] `task` must have the field `question`"):
        require_golden(plan, registry)


def test_any_verifier_can_be_calibrated_through_the_answer_parser(
    registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "exact.yaml"
    path.write_text(EXACT.replace('"== 1"', '">= 1"'))
    assert 0 == main(["test", str(path), "--controls"])
    assert "pass  calibration.said  agreement >= 1  got 1  3 rows" in capsys.readouterr().out
    path.write_text(
        path.read_text().replace('"so #### two", expect: {said.equal: false}', '"#### x", expect: {equal: true}')
    )
    assert 1 == main(["test", str(path), "--controls", "--format", "json"])
    (report,) = json.loads(capsys.readouterr().out)["domains"]
    assert [("said", 2, 1, 0)] == [(c["verify"], c["held"], c["broken"], c["lost"]) for c in report["calibration"]]


def test_verb_test_asks_the_judge_it_is_given(
    write: Write, server: JudgeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(*AGREED) / "kind.yaml"
    path.write_text(CALIBRATED)
    assert 2 == main(["test", str(path), "--controls"])
    assert "Add judge=openai judge.base_url=http://HOST:PORT/v1" in capsys.readouterr().out
    assert 0 == main(["test", str(path), "--controls", "judge=openai", f"judge.base_url={server.url}"])
    assert "pass  calibration.quality  agreement >= 0.75  got 1  3 rows" in capsys.readouterr().out


def test_verb_try_asks_the_judge_it_is_given(
    write: Write, server: JudgeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(*AGREED) / "kind.yaml"
    path.write_text(CALIBRATED)
    words = ["try", str(path), "--answer", "hello"]
    assert 1 == main(words)
    assert "`judge.score` asks a judge" in capsys.readouterr().err
    assert 0 == main([*words, "judge=openai", f"judge.base_url={server.url}"])
    assert "quality: score=0.5, agreement=1.0, suspicious=False" in capsys.readouterr().out
    assert 1 == main([*words, "trainer.lr=1"])
    assert "an override of `assay try` must choose a judge, got trainer.lr=1" in capsys.readouterr().err
    assert 1 == main([*words, "judge=openai", "judge.bas_url=x"])
    assert "did you mean `base_url`?" in capsys.readouterr().err
