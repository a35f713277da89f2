"""`assay schema`: one JSON document that knows the keys."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.dsl.edition import CURRICULUM, DOMAIN
from assay.dsl.schema import Shape

Run = Callable[..., Any]


@pytest.mark.parametrize(("kind", "shape"), [("domain", DOMAIN), ("curriculum", CURRICULUM)])
def test_schema_has_the_keys_of_the_language(run: Run, kind: str, shape: Shape) -> None:
    ran = run("schema", kind)
    assert (0, "") == (ran.status, ran.err)
    assert set(shape.keys) == set(json.loads(ran.out)["properties"])


def expression_words(ran: Any) -> list[str]:
    term = json.loads(ran.out)["properties"]["reward"]["properties"]["outcome"]["additionalProperties"]
    return list(term["examples"])


def test_schema_of_a_file_holds_its_signals_fields_and_params(run: Run, write: Callable[..., Path]) -> None:
    path = write(("text.equal(expected)", "demo.equal(expected)"), more="params: {bonus: 0.5}\n")
    words = expression_words(run("schema", "domain", str(path)))
    assert ["question", "expected", "bonus", "ans.equal", "ans.parsed", "success", "trace.turns"] == words[:7]
    assert "ans.equal" not in expression_words(run("schema", "domain"))


@pytest.mark.parametrize("verify", ["ans: nobody.has(expected)", "ans: [1]", "ans:"])
def test_half_written_file_has_the_names_it_has(run: Run, write: Callable[..., Path], verify: str) -> None:
    words = expression_words(run("schema", "domain", str(write(("ans: text.equal(expected)", verify)))))
    assert ["question", "expected", "success"] == words[:3]


def test_file_that_is_no_yaml_yet_leaves_the_schema_of_every_file(run: Run, write: Callable[..., Path]) -> None:
    assert run("schema", "domain").out == run("schema", "domain", str(write(("fields: {", "fields: [{")))).out


def test_schema_of_a_curriculum_completes_its_entries(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("assay: 1\ncurriculum: mine\nmix:\n  one: {domain: demo.one}\n")
    unlock = json.loads(run("schema", "curriculum", str(path)).out)["properties"]["mix"]["additionalProperties"]
    assert ["step", "one.pass_rate", "one.reward"] == unlock["properties"]["unlock"]["examples"][:3]


def test_schema_offers_stage_rules_where_they_may_stand(run: Run) -> None:
    keys = json.loads(run("schema", "curriculum").out)["properties"]
    stage, entry = (keys[name]["additionalProperties"]["properties"] for name in ("stages", "mix"))
    assert "plateau()" in stage["until"]["examples"]
    assert "plateau()" not in entry["unlock"]["examples"]


def test_file_that_is_not_there_is_wrong_usage(run: Run) -> None:
    ran = run("schema", "domain", "absent.yaml")
    assert (2, "") == (ran.status, ran.out)
    assert "absent.yaml: No such file or directory" in ran.err
