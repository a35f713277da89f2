"""`assay eval`: its words, and how held-out tasks are then played."""

from typing import Any

import pytest

from assay.core.error import ConfigError, PluginError
from assay.runtime.cli.evaluate import accuracy_table, evaluation_settings, read_words

BEFORE = {"tasks": 160, "every": 50, "temperature": 0.0}


def settings(*words: str, before: dict[str, Any] | None = None) -> dict[str, Any]:
    return evaluation_settings(before or BEFORE, read_words(list(words)))


def test_tasks_are_played_as_the_run_played_them() -> None:
    expected = {**BEFORE, "every": 0, "samples": 1, "strategy": "none", "options": {}}
    assert expected == settings()


def test_a_strategy_comes_with_its_options() -> None:
    found = settings("eval.strategy=best_of", "eval.signal=judge.quality", "eval.samples=8", "eval.temperature=1.0")
    assert ("best_of", {"signal": "judge.quality"}, 8, 1.0) == (
        found["strategy"],
        found["options"],
        found["samples"],
        found["temperature"],
    )


def test_another_strategy_leaves_the_options_of_the_former_behind() -> None:
    before = {**BEFORE, "samples": 8, "strategy": "best_of", "options": {"signal": "judge.quality"}}
    assert {"signal": "judge.quality"} == settings(before=before)["options"]
    assert {} == settings("eval.strategy=majority", before=before)["options"]
    assert {} == settings("eval.strategy=none", before=before)["options"]


@pytest.mark.parametrize(
    ("words", "must"),
    [
        (["eval.tsks=3"], "nothing reads the key `eval.tsks`"),
        (["eval.every=3"], "nothing reads the key `eval.every`"),
        (["eval.samples=0"], "must be at least 1"),
        (["eval.samples=many"], "must have a value of its type"),
        (["eval.strategy=majority", "eval.signal=a.b"], "nothing reads the key `eval.signal`"),
        (["eval.strategy=best_of", "eval.signal=quality"], "must have the signal"),
        (["eval.strategy=best_of", "eval.signals=a.b"], "did you mean `eval.signal`"),
        (["eval.temperature=nan"], "eval.temperature at least 0 and finite"),
        (["eval.temperature=inf", "eval.samples=2"], "eval.temperature at least 0 and finite"),
        (["eval.strategy=best_of", "eval.signal=3", "eval.samples=2"], "`signal` must be str, got 3"),
    ],
)
def test_a_word_that_cannot_be_meant_is_refused(words: list[str], must: str) -> None:
    with pytest.raises(ConfigError, match=must):
        settings(*words)


def test_a_strategy_nobody_offers_is_refused() -> None:
    with pytest.raises(PluginError, match=r"unknown strategy `majorty`. did you mean `majority`"):
        settings("eval.strategy=majorty")


def test_one_answer_per_task_has_one_accuracy() -> None:
    summary = {"domains": {"spell": {"after": 0.5, "held_out": 8}, "sort": {"after": None, "held_out": 0}}}
    assert [("domain", "accuracy", "held out"), ("spell", "0.500", "8"), ("sort", "-", "0")] == accuracy_table(summary)
