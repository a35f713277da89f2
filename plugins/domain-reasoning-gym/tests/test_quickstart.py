"""The learning recipe's data: tiny texts, mixed demonstrations, no task that a habit solves."""

from collections import Counter
from typing import Any

import pytest

from assay_domain_reasoning_gym.recipe import QUICKSTART
from assay_domain_reasoning_gym.recipe.base import Recipe
from assay_domain_reasoning_gym.recipe.quickstart import LENGTH, WORDS
from assay_domain_reasoning_gym.source import Tasks
from assay_domain_reasoning_gym.split import SPLITS

LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def main_habit(name: str, question: str) -> str:
    """Repeat what stands in the prompt."""
    return question.rsplit(maxsplit=1)[-1]


def second_habit(name: str, question: str, expected: str) -> str:
    given = question.rsplit(maxsplit=1)[-1]
    return {
        "spell": expected[0] + expected[2:3] + expected[1:2] + expected[3:],
        "caesar": expected[0] + given[1:],
        "spiral": given[0] + given[2:3] + given[1:2] + given[3:],
        "sort": given[1] + given[0] + given[2:],
    }[name]


def to_tokens(text: str) -> list[str]:
    """Cut a text as the quickstart's policy does: template words whole, the rest by letter, blanks dropped."""
    return [token for word in text.split() for token in ([word] if word in WORDS else word)]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", QUICKSTART.values(), ids=list(QUICKSTART))
def test_demonstrations_show_right_and_wrong_in_their_shares(recipe: Recipe) -> None:
    shown: Counter[str] = Counter()
    source = Tasks(recipe, 4000, 0, "demos", {})
    for index in range(4000):
        row = source.read(index)
        question, expected, completion = row["question"], row["expected"], row["completion"]
        main, second = main_habit(recipe.name, question), second_habit(recipe.name, question, expected)
        assert completion in (expected, main, second)
        shown["right" if completion == expected else "main" if completion == main else "second"] += 1
        shown["second is no habit here"] += second in (expected, main)

    # Where the second habit is right or the main one, the main one is shown for both.
    moved = 0.15 * shown["second is no habit here"] / 4000
    assert shown["right"] / 4000 == pytest.approx(0.35, abs=0.025)
    assert shown["main"] / 4000 == pytest.approx(0.50 + moved, abs=0.025)
    assert shown["second"] / 4000 == pytest.approx(0.15 - moved, abs=0.025)


@pytest.mark.parametrize("recipe", QUICKSTART.values(), ids=list(QUICKSTART))
def test_no_task_is_solved_by_its_main_habit(recipe: Recipe) -> None:
    for split in SPLITS:
        source = Tasks(recipe, 160, 0, split, {})
        rows = [source.read(index) for index in range(160)]

        assert [] == [row for row in rows if main_habit(recipe.name, row["question"]) == row["expected"]]


@pytest.mark.parametrize("recipe", QUICKSTART.values(), ids=list(QUICKSTART))
def test_prompts_and_answers_keep_to_the_policys_tokens(recipe: Recipe) -> None:
    for split in SPLITS:
        source = Tasks(recipe, 160, 0, split, {})
        for index in range(160):
            row = source.read(index)
            prompt = to_tokens(recipe.prompt.format(question=row["question"]))
            answer = to_tokens(row.get("completion", row["expected"]))

            assert len(prompt) <= 8
            assert len(answer) <= LENGTH < recipe.max_tokens
            assert set(prompt + answer) <= LETTERS | set(WORDS)


def test_draws_of_two_domains_are_not_the_same_draws() -> None:
    right = {
        name: [row["completion"] == row["expected"] for row in map(Tasks(recipe, 100, 0, "demos", {}).read, range(100))]
        for name, recipe in QUICKSTART.items()
    }

    assert 4 == len(set(map(tuple, right.values())))


def test_cipher_slices_are_drawn_apart_from_their_sentences(all_domains: Any) -> None:
    """One generator for both would bind each sentence to one slice and leave a few hundred different tasks."""
    source = Tasks(QUICKSTART["caesar"], 2000, 0, "demos", {})

    assert len({source.read(index)["expected"] for index in range(2000)}) > 1000
