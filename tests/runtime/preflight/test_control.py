"""Controls are graded by real workers; whatever keeps one from being graded is told, and never a pass."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.registry import Registry
from assay.dsl.compile import compile_bytes
from assay.dsl.expr.function import BUILTIN
from assay.runtime.preflight.control import Subject, Trial, subject_of, try_controls
from assay.runtime.verify.host import VerifierHost

DOMAIN = b"""\
assay: 1
domain: demo.tried
version: 1
fields: {word: str}
data:
  train:
    - {word: spare}
  eval:
    - {word: one}
    - {word: two}
    - {word: three}
prompt: "Say {word}."
episode: {max_tokens: 4}
verify:
  said: text.equal(word)
reward:
  outcome:
    correct: 1.0*said.equal
  efficiency:
    brevity: -0.025*trace.tokens
controls:
  oracle: {answer: "{word}", reward: "> 0.8"}
  nop: {answer: "", reward: "<= 0"}
"""


class Source:
    """Rows of which some cannot be read or do not fit."""

    def __init__(self, *rows: Any) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, index: int) -> dict[str, Any]:
        row = self.rows[index]
        if isinstance(row, Exception):
            raise row
        return row  # type: ignore[no-any-return]


Try = Callable[..., list[Trial]]


@pytest.fixture(scope="module")
def subject(registry: Registry) -> Subject:
    compiled = compile_bytes(DOMAIN, registry, "demo.yaml", Path())
    return subject_of("demo", compiled, registry, BUILTIN)


@pytest.fixture
def attempt(subject: Subject, tmp_path: Path) -> Try:
    """Try the controls, over other rows where asked."""

    def attempt(*rows: Any, num_rows: int = 8) -> list[Trial]:
        chosen = Subject(subject.name, subject.rubric, subject.split, Source(*rows)) if rows else subject
        with VerifierHost(folder=tmp_path) as host:
            return try_controls([chosen], host, num_rows)

    return attempt


@pytest.mark.slow
def test_every_control_is_graded_on_every_held_out_row(attempt: Try) -> None:
    oracle, nop = attempt()
    # Four tokens at most: the reward stays inside its proved range.
    assert ("oracle", "> 0.8", (0.9, 0.9, 0.9), "") == (oracle.control, oracle.expected, oracle.rewards, oracle.problem)
    assert ("nop", (-0.025,) * 3, "") == (nop.control, nop.rewards, nop.problem)


@pytest.mark.slow
def test_only_so_many_rows_are_tried_as_asked(attempt: Try) -> None:
    assert [2, 2] == [len(trial.rewards) for trial in attempt(num_rows=2)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (({"word": "a"}, ZeroDivisionError("no")), "DA001: eval[1] must be readable, got ZeroDivisionError: no"),
        (({"word": "a"}, {"word": 3}), "DA001: eval[1] field `word` must be str, got 3 (int)"),
        (({"word": "a"}, {"word": ""}), "eval[1]: reward must be <= 0, got 0.975 (said.equal=True)"),
    ],
)
def test_row_that_breaks_a_control_is_named(attempt: Try, rows: tuple[Any, ...], problem: str) -> None:
    assert problem in [trial.problem for trial in attempt(*rows)]


def test_subject_without_rows_is_no_pass(subject: Subject, tmp_path: Path) -> None:
    empty = Subject(subject.name, subject.rubric, subject.split, Source())
    with VerifierHost(folder=tmp_path) as host:
        trials = try_controls([empty], host, 8)
    assert ["DA001: data.eval must have rows, got none"] * 2 == [trial.problem for trial in trials]


def test_control_that_needs_a_person_is_left_to_people_and_the_rest_is_tried(registry: Registry) -> None:
    text = DOMAIN.replace(b"  said: text.equal(word)\n", b'  said: text.equal(word)\n  person: human.mark("Ok?")\n')
    text = text.replace(b"reward:\n", b"reward:\n  gate:\n    - {if: said.equal, else: 0}\n")
    text = text.replace(b"1.0*said.equal", b"0.5*said.equal + 0.5*person.mark")
    compiled = compile_bytes(text, registry, "tried.yaml", Path("."))
    with VerifierHost() as host:
        oracle, nop = try_controls([subject_of("tried", compiled, registry, BUILTIN)], host, 2)
    assert ("", False) == (oracle.problem, oracle.is_lost)
    assert "`person` asks a person, who cannot be tried before a run" == oracle.note
    # Its gate closes before anybody is asked.
    assert ((0.0, 0.0), "", "") == (nop.rewards, nop.problem, nop.note)
