"""`assay try`: one episode, every step of it, without a run."""

from pathlib import Path

import pytest

from assay.runtime.cli import main

pytestmark = pytest.mark.slow


def test_oracle_of_the_domain_is_tried_where_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["try", "quickstart.spell"])
    out = capsys.readouterr().out
    for part in ("eval[0]", "`oracle` control", "user        spell ulna", "completion  'anlu'", "equal=True", "reward"):
        assert part in out
    assert "reward      1  success True" in out


def test_answer_is_graded_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["try", "quickstart.sort", "--answer", "no number", "--index", "3", "--split", "train"])
    out = capsys.readouterr().out
    # The domain ends an episode after four tokens, and the stub's are characters.
    assert "train[3]" in out
    assert "(length)" in out
    assert "reward      0  success False" in out


def test_domain_file_is_tried_like_an_installed_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(
        """
assay: 1
domain: local.one
version: 1
summary: One question.
fields: {question: str, expected: str}
data:
  train:
    - {question: "1+1", expected: "2"}
prompt: "{question}"
answer: after("####")
verify: {ans: text.equal(expected)}
reward:
  gate:
    - name: parsed
      if: trace.parsed
      else: -0.5
  outcome: {correct: 1.0*ans.equal}
"""
    )
    assert 0 == main(["try", str(path), "--answer", "it is #### 2"])
    out = capsys.readouterr().out
    assert "answer      '2'" in out
    assert "reward      1  success True" in out
    assert 0 == main(["try", str(path), "--answer", "it is 2"])
    out = capsys.readouterr().out
    assert "gate        parsed is closed" in out
    assert "reward      -0.5  success False" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["try", "quickstart.spel"], "did you mean `quickstart.spell`"),
        (["try", "quickstart.spell", "--answer", "\udcff"], "an answer must be text in the terminal's encoding"),
        (["try", "quickstart.spell", "--index", "160"], "a row must lie in 0..159, got 160"),
        (["try", "quickstart.spell", "--run", "nowhere"], "a run must be named by its folder, got nowhere"),
        (["explain", "nowhere", "1"], "a run must be named by its folder, got nowhere"),
        (["eval", "nowhere"], "a run must be named by its folder, got nowhere"),
        (["try", "nowhere.yaml"], "a domain file must be readable, got No such file or directory - at nowhere.yaml"),
        (["diff", "nowhere.yaml", "other.yaml"], "a domain file must be readable, got no such file - at nowhere.yaml"),
        (["eval", "eval.temprature=3"], "did you mean `eval.temperature`"),
        (["eval", "eval.taks=3"], "did you mean `eval.tasks`"),
        (["eval", "eval.tasks=many"], "`eval.tasks` must have a value of its type"),
    ],
)
def test_what_cannot_be_tried_is_said(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == main(words)
    assert message in capsys.readouterr().err
