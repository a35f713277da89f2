"""`assay check`: findings of everything in one pass, proved facts, exit status."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.registry import PluginFailure, Registry

Run = Callable[..., Any]
Write = Callable[..., Path]


def test_sound_file_prints_its_facts_and_passes(run: Run, write: Write) -> None:
    ran = run("check", str(write()))
    assert (0, "") == (ran.status, ran.err)
    assert "local/demo.file@1" in ran.out
    assert ran.out.endswith("1 sound domain, 0 errors, 0 warnings\n")


def test_json_has_the_keys_that_are_documented(run: Run, write: Write) -> None:
    path = str(write())
    found = json.loads(run("check", "--format", "json", path).out)
    assert [] == found["diagnostics"]
    (facts,) = found["domains"]
    assert {"id", "version", "digest", "reward", "outcome", "process", "efficiency", "gate", "margin", "tier",
            "deterministic", "cost_s", "needs"} <= set(facts)  # fmt: skip
    assert ("demo.file", 1, [0.0, 1.0]) == (facts["id"], facts["version"], facts["reward"])


def test_finding_of_a_file_has_its_path_as_given(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(("ans.equal", "ans.eqal"))
    monkeypatch.chdir(path.parent)
    ran = run("check", "--format", "json", "./domain.yaml")
    (found,) = json.loads(ran.out)["diagnostics"]
    assert 1 == ran.status
    assert ("RX001", "error", "./domain.yaml", 13, 18, 26) == tuple(
        found[key] for key in ("code", "severity", "path", "line", "column", "end_column")
    )


def test_text_points_at_the_faulty_part(run: Run, write: Write) -> None:
    out = run("check", str(write(("ans.equal", "ans.eqal")))).out
    assert "13 |     correct: 1.0*ans.eqal\n   |                  ^^^^^^^^" in out


def test_all_files_are_checked_whatever_fails(run: Run, write: Write, tmp_path: Path) -> None:
    bad = write(("ans.equal", "ans.eqal"), name="bad.yaml")
    good = write(name="good.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    ran = run(
        "check", "--format", "json", str(bad), str(tmp_path / "absent.yaml"), str(tmp_path), str(broken), str(good)
    )
    found = json.loads(ran.out)
    assert 1 == ran.status
    assert {
        (str(bad), "RX001"),
        (str(tmp_path / "absent.yaml"), "YM005"),
        (str(tmp_path), "YM005"),
        (str(broken), "YM005"),
    } == {(one["path"], one["code"]) for one in found["diagnostics"]}
    assert ["demo.file"] == [one["id"] for one in found["domains"]]


def test_warning_fails_only_under_strict(run: Run, write: Write) -> None:
    path = str(
        write(
            ("fields: {question: str, ", "fields: {question: str, unused: str, "),
            ('question: "1+1", ', 'question: "1+1", unused: "", '),
        )
    )
    assert (0, 1) == (run("check", path).status, run("check", path, "--strict").status)
    assert "warning[RW010]" in run("check", path).out


def test_installed_domains_are_found_by_id_and_by_owner(run: Run) -> None:
    assert "assay-demo/demo.one@1" in run("check", "demo.one").out
    assert "assay-demo/demo.one@1" in run("check", "assay-demo/demo.one").out


def test_without_words_all_installed_domains_are_checked(run: Run) -> None:
    assert "6 sound domains" in run("check").out


def test_unknown_domain_is_wrong_usage_with_the_nearest_names(run: Run) -> None:
    ran = run("check", "demo.on")
    assert (2, "") == (ran.status, ran.out)
    assert "did you mean `demo.one`" in ran.err


def test_curriculum_file_is_checked_with_its_domains(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mix.yaml"
    path.write_text("assay: 1\ncurriculum: mine\nmix:\n  a: {domain: demo.one}\n  b: {domain: demo.tow}\n")
    ran = run("check", "--format", "json", str(path))
    assert [("CU001", 5, 15)] == [(d["code"], d["line"], d["column"]) for d in json.loads(ran.out)["diagnostics"]]
    assert ["demo.one"] == [one["id"] for one in json.loads(ran.out)["domains"]]


@pytest.mark.slow
def test_override_changes_the_proved_facts(run: Run) -> None:
    ran = run(
        "check", "--format", "json", "domain.spell.params.bonus=2", "domain.sort.reward.outcome.correct='3*ans.equal'"
    )
    domains = {one["id"]: one for one in json.loads(ran.out)["domains"]}
    assert [0.0, 3.0] == domains["quickstart.spell"]["reward"]
    assert [0.0, 3.0] == domains["quickstart.sort"]["reward"]
    assert [0.0, 1.5] == domains["quickstart.caesar"]["reward"]


FAULTY = [
    ("domain.spel.params.bonus=2", "CF001", 8, "`spell`"),
    ("domain.spell.reward.outcome.corect=1", "CF001", 29, "`correct`"),
    ("domain.spell.params.bonuss=1", "CF001", 21, "`bonus`"),
    ("domain.spell.promt=x", "CF001", 14, "`prompt`"),
    ("~domain.spell.reward.process.x", "CF001", 30, ""),
    ("domain.spell.reward.outcome.correct=0.4*(a > 0)", "RX001", 42, ""),
    ("domain.spell.group.size=eight", "YM003", 25, ""),
    ("curriculum.mix.spel.share=1", "CF001", 16, "`spell`"),
    ("curriculum.mix.spell.shar=1", "CF001", 22, "`share`"),
    ("curriculum.mix.spell.share=-1", "CU001", 28, ""),
    ("curriculum.mix.spell.domain=demo.on", "CU001", 29, "`demo.one`"),
    ("curriculum.balanc=episodes", "CF001", 12, "`balance`"),
    ("trainer.lrr=1", "CF001", 1, "`lr`"),
    ("curriculum=quikstart", "CF001", 12, "`quickstart`"),
    ("engin=embedded", "CF001", 1, "`engine`"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "code", "column", "hint"), FAULTY, ids=[row[0] for row in FAULTY])
def test_faulty_override_is_a_finding_in_the_override(run: Run, text: str, code: str, column: int, hint: str) -> None:
    ran = run("check", "--format", "json", "run.seed=1", text)
    found = json.loads(ran.out)["diagnostics"]
    assert 1 == ran.status
    errors = [one for one in found if one["severity"] == "error"]
    assert [(code, "<override 2>", 1, column)] == [
        tuple(one[k] for k in ("code", "path", "line", "column")) for one in errors
    ]
    assert hint in errors[0]["message"] + errors[0]["hint"]


ACCEPTED = [
    ("reward.outcome.correct=min(bonus*ans.equal,3)", [0.0, 0.5]),
    ("reward.outcome.correct=0.4*(bonus > 0) + ans.equal", [0.4, 1.4]),
    ("reward.success=bonus == 1 or ans.equal", [0.0, 1.5]),
    ("params.bonus=1e3", [0.0, 1001.0]),
    ("reward.outcome.correct='1.0*ans.equal'", [0.0, 1.0]),
    ("reward.outcome.correct=1.0*ans.equal if expected == 'a, b' else 0.5*ans.equal", [0.0, 1.0]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "reward"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_awkward_value_means_what_it_says(run: Run, text: str, reward: list[float]) -> None:
    ran = run("check", "--format", "json", f"domain.spell.{text}")
    found = json.loads(ran.out)
    assert [] == [one for one in found["diagnostics"] if one["severity"] == "error"]
    assert [reward] == [one["reward"] for one in found["domains"] if one["id"] == "quickstart.spell"]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["require={judge_cost: <= 0.02 USD}", "require.judge_cost=<= 0.02 USD"])
def test_budget_is_read_as_written(run: Run, text: str) -> None:
    assert 0 == run("check", f"curriculum.{text}").status


@pytest.mark.slow
def test_sampler_with_keywords_reaches_the_curriculum_whole(run: Run) -> None:
    ran = run("check", "--format", "json", "curriculum.sampler=bandd(low=0.2)")
    (found,) = [one for one in json.loads(ran.out)["diagnostics"] if one["severity"] == "error"]
    assert ("RX006", "<override 1>", 20) == (found["code"], found["path"], found["column"])


@pytest.mark.slow
def test_sweep_splits_only_at_outer_commas(run: Run) -> None:
    key = "domain.spell.reward.outcome.correct"
    ran = run("check", "--format", "json", "-m", f"{key}=min(ans.equal, 1),2*ans.equal")
    spells = [one["reward"] for one in json.loads(ran.out)["domains"] if one["id"] == "quickstart.spell"]
    assert [[0.0, 1.0], [0.0, 2.0]] == spells


def test_domain_that_cannot_be_found_names_packages_that_failed(run: Run, registry: Registry) -> None:
    registry.failures.append(PluginFailure("assay-broken", "1.0", "assay_broken", "ImportError: no"))
    assert "assay-broken" in run("check", "demo.on").err


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ('human.mark("")', "a question must have a text, got ''"),
        ('human.mark("Ok?", low=9, high=5)', "a question must have low < high, got 9 and 5"),
        ('human.mark("Ok?", patience="1000h")', "patience must be above 0 and at most 168h, got 1000h"),
    ],
)
def test_question_that_nobody_can_be_asked_is_found_at_its_place(call: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "kind.yaml"
    path.write_text(
        f"""
assay: 1
domain: demo.kind
version: 1
summary: Greetings that people like.
fields: {{name: str}}
data: {{train: [{{name: Eve}}]}}
prompt: "{{name}}"
verify:
  person: {call}
reward: {{outcome: {{liked: 1.0*person.mark}}}}
"""
    )
    command = [sys.executable, "-m", "assay", "check", "--format", "json", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    (found,) = [one for one in json.loads(ran.stdout)["diagnostics"] if one["severity"] == "error"]
    assert (1, True, 10) == (ran.returncode, said in found["message"], found["line"])
