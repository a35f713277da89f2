"""What people are asked: read from a domain, refused before a run where it cannot be asked."""

from pathlib import Path
from typing import Any

import pytest

from assay.core.error import ConfigError, VerifierFault
from assay.core.registry import Registry
from assay.dsl.compile import compile_bytes
from assay.dsl.program import Program
from assay.runtime.review.question import Question, asked_of, check_people, people_of, read_question
from assay.runtime.verifier.human import human_mark

DOMAIN = """\
assay: 1
domain: demo.kind
version: 1
summary: Answers that people find helpful.
fields: {{q: str, ask: str}}
data:
  train:
    - {{q: "Boil an egg?", ask: "Would you eat it?"}}
params: {{top: 5}}
prompt: "{{q}}"
verify:
  person: human.mark({call})
reward:
  outcome:
    helpful: person.mark
"""


def compiled(call: str, registry: Registry) -> Program:
    return compile_bytes(DOMAIN.format(call=call).encode(), registry, "kind.yaml", Path(".")).require()


@pytest.fixture
def registry(world: Any) -> Registry:
    found: Registry = world.registry
    return found


def test_question_comes_from_the_call_its_fields_and_params(registry: Registry) -> None:
    program = compiled('ask, low=1, high=top, patience="90min"', registry)
    assert ("person",) == people_of(program)
    check_people(program, "mix.kind")
    asked = asked_of(program, "person", {"q": "Boil an egg?", "ask": "Would you eat it?"})
    assert Question("Would you eat it?", 1.0, 5.0, 5400.0) == asked
    assert (0.0, 0.25, 1.0) == tuple(asked.worth(value) for value in (1.0, 2.0, 5.0))
    assert not asked.is_binary and Question("Ok?").is_binary


def test_name_of_a_question_is_its_text_and_scale() -> None:
    assert Question("Ok?").id == Question("Ok?", patience_s=1.0).id
    assert 4 == len({Question("Ok?").id, Question("Ok!").id, Question("Ok?", 0, 2).id, Question("Ok?", -1, 1).id})


@pytest.mark.parametrize(
    ("call", "word"),
    [
        ('""', "must have a text"),
        ('"Ok?", low=1, high=1', "must have low < high"),
        ('"Ok?", patience="soon"', "a duration such as"),
        ('"Ok?", patience="169h"', "at most 168h"),
        ('"Ok?", patience="0s"', "above 0"),
    ],
)
def test_question_that_cannot_be_asked_is_refused_before_a_run(registry: Registry, call: str, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        check_people(compiled(call, registry), "mix.kind")


def test_signals_that_nobody_can_answer_are_refused(registry: Registry) -> None:
    import msgspec

    program = compiled('"Ok?"', registry)
    verify = msgspec.structs.replace(program.verify["person"], signals={"a": program.verify["person"].signals["mark"]})
    with pytest.raises(ConfigError, match="must have the one signal `mark`"):
        check_people(msgspec.structs.replace(program, verify={"person": verify}), "mix.kind")


def test_text_is_a_text() -> None:
    with pytest.raises(ValueError, match="must have a text"):
        read_question({"question": 3})


def test_code_of_a_person_never_runs() -> None:
    assert ("human", 7 * 24 * 3600.0) == (human_mark.tier, human_mark.timeout_s)
    with pytest.raises(VerifierFault, match="must be answered by one"):
        human_mark("Ok?")
