"""`-m`: one job per combination of values."""

import pytest

from assay.runtime.config.override import read_overrides
from assay.runtime.config.sweep import expand


def jobs(*texts: str) -> list[list[str]]:
    overrides, findings = read_overrides(texts)
    found, more = expand(overrides)
    assert [] == [*findings, *more]
    return [[override.text for override in job] for job in found]


def test_jobs_are_all_combinations_with_the_last_override_fastest() -> None:
    assert [
        ["trainer.lr=1e-3", "run.seed=1"],
        ["trainer.lr=1e-3", "run.seed=2"],
        ["trainer.lr=3e-4", "run.seed=1"],
        ["trainer.lr=3e-4", "run.seed=2"],
    ] == jobs("trainer.lr=1e-3,3e-4", "run.seed=1,2")


def test_value_without_a_sweep_is_left_alone() -> None:
    texts = ["domain.a.reward.outcome.x=min(a, 3)", "policy.words=[a,b]", "run.name='a,b'", "~domain.a.params.x"]
    assert [texts] == jobs(*texts)


def test_expressions_are_separated_at_outer_commas() -> None:
    key = "domain.a.reward.outcome.x"
    assert [[f"{key}=min(a,3)"], [f"{key}=0.4*(a > 0)"]] == jobs(f"{key}=min(a,3), 0.4*(a > 0)")


def test_quoted_comma_is_part_of_the_text() -> None:
    assert [["domain.a.prompt='x, y'"], ["domain.a.prompt=z"]] == jobs("domain.a.prompt='x, y',z")


def test_hydras_own_sweeps_work_for_settings() -> None:
    assert [["run.seed=1"], ["run.seed=2"], ["run.seed=3"]] == jobs("run.seed=range(1,4)")
    assert [["run.name=a"], ["run.name=b"]] == jobs("run.name=choice(a,b)")


def test_choices_are_swept_by_name_and_path() -> None:
    assert [["curriculum=a"], ["curriculum=b/c.yaml"]] == jobs("curriculum=a,b/c.yaml")


def test_job_keeps_the_number_of_its_override() -> None:
    overrides, _ = read_overrides(["run.seed=1", "trainer.lr=1,2"])
    assert [[1, 2], [1, 2]] == [[override.index for override in job] for job in expand(overrides)[0]]


@pytest.mark.parametrize(
    "text", ["domain.a.params.x=1,,2", "domain.a.params.x=1,", "run.seed=(1", "run.seed=interval(0,1)"]
)
def test_sweep_that_cannot_be_meant_is_reported(text: str) -> None:
    overrides, _ = read_overrides([text])
    assert [("CF001", "<override 1>")] == [(found.code, found.span.path) for found in expand(overrides)[1]]


def test_endless_sweep_is_refused() -> None:
    overrides, _ = read_overrides([f"domain.a.params.{name}=1,2,3,4,5,6,7,8,9,10" for name in "abcdefghij"])
    found, findings = expand(overrides)
    assert ([], ["CF001"]) == (found, [one.code for one in findings])
