"""No task is shared between training, demonstrations and evaluation."""

from typing import Any

import pytest

from assay.core.digest import digest
from assay_domain_reasoning_gym.domain import DEMO_SIZE, TRAIN_SIZE
from assay_domain_reasoning_gym.recipe import QUICKSTART, RECIPES
from assay_domain_reasoning_gym.recipe.base import Recipe
from assay_domain_reasoning_gym.source import Tasks

SIZES = {"train": TRAIN_SIZE, "demos": DEMO_SIZE, "eval": 160}


def hashes(source: Any, size: int) -> list[str]:
    """Return the task hashes, which are digests of the fields."""
    rows = (source.read(index) for index in range(size))
    return [digest({"question": row["question"], "expected": row["expected"]}) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(QUICKSTART))
def test_quickstart_splits_share_no_task_over_their_full_sizes(name: str, all_domains: Any, open_source: Any) -> None:
    domain = all_domains[f"quickstart.{name}"]
    found = {split: hashes(open_source(domain, split, size), size) for split, size in SIZES.items()}

    assert 160 == len(set(found["eval"]))
    assert set() == set(found["train"]) & set(found["demos"])
    assert set() == set(found["eval"]) & (set(found["train"]) | set(found["demos"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RECIPES))
def test_splits_share_no_task(name: str, all_domains: Any, open_source: Any) -> None:
    domain = all_domains[f"reasoning_gym.{name}"]
    eval_size = RECIPES[name].eval_size
    num_rows = 400 if eval_size == 160 else 60  # fewer where entries are slow to make
    sizes = {"train": num_rows, "demos": num_rows, "eval": eval_size}
    found = {split: hashes(open_source(domain, split, size), size) for split, size in sizes.items()}

    assert sizes["eval"] == len(set(found["eval"]))
    assert set() == set(found["train"]) & set(found["demos"])
    assert set() == set(found["eval"]) & (set(found["train"]) | set(found["demos"]))


def content(recipe: Recipe, question: str) -> str:
    """Return what must not be shared between splits, read off the prompt."""
    if recipe.name == "caesar":
        shift, code = question.split()
        return "".join(chr((ord(letter) - 97 - int(shift)) % 26 + 97) for letter in code)
    return "".join(sorted(question.split()[1])) if recipe.name == "sort" else question


@pytest.mark.slow
@pytest.mark.parametrize("recipe", QUICKSTART.values(), ids=list(QUICKSTART))
def test_quickstart_content_is_of_one_split_whatever_the_seed(recipe: Recipe) -> None:
    found: dict[str, set[str]] = {split: set() for split in SIZES}
    for split, contents in found.items():
        for seed in (0, 1):
            source = Tasks(recipe, 150, seed, split, {})
            contents.update(content(recipe, source.read(index)["question"]) for index in range(150))

    assert set() == found["train"] & found["demos"] | found["train"] & found["eval"] | found["demos"] & found["eval"]
