"""Sources: the tasks of one recipe and one split, by index.

Reading one row is quick and needs no other row, except in `eval`, whose rows are all different and are therefore found
in order. The index of a row seeds everything about it: equal arguments and index give an equal row in every process.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import assay
from assay_domain_reasoning_gym.dataset import Dataset, open_dataset
from assay_domain_reasoning_gym.ladder import LADDERS
from assay_domain_reasoning_gym.recipe import QUICKSTART, RECIPES
from assay_domain_reasoning_gym.recipe.base import Recipe, Task
from assay_domain_reasoning_gym.split import SPLITS, key_to_split

RIGHT, MAIN = 0.35, 0.50
"""Shares of right demonstrations and of the main wrong habit where a recipe has habits; the rest shows the second."""

# So many entries may be of another split, dropped or known before a source gives up.
MAX_TRIES = 2000
# Entries set apart for one row of `train` and `demos`, so that rows do not begin at each other's entries.
STRIDE = 64


class Tasks:
    """Rows of one recipe and split; see `assay.core.source.Source`."""

    def __init__(self, recipe: Recipe, size: int, seed: int, split: str, config: Mapping[str, Any]) -> None:
        if split not in SPLITS:
            raise assay.AssayError(
                "a split must be train, demos or eval", got=repr(split), at=f"data of {recipe.name}", code="DA001"
            )
        if size < 1:
            raise assay.AssayError("size must be at least 1", got=size, at=f"data of {recipe.name}", code="DA001")
        self.recipe = recipe
        self.size = size
        self.seed = seed
        self.split = split
        self.config = {**recipe.config, **config}
        self._dataset: Dataset | None = None
        self._unique: list[Task] = []
        self._known: set[str] = set()
        self._next = 0

    def __len__(self) -> int:
        return self.size

    def read(self, index: int) -> dict[str, Any]:
        """Return `question` and `expected` of one row; in `demos` also `completion`.

        Raises:
            AssayError: the index is outside, or the generator makes too few different tasks of this split.
        """
        if not 0 <= index < self.size:
            raise assay.AssayError(
                f"an index must lie in 0..{self.size - 1}", got=index, at=f"data of {self.recipe.name}", code="DA001"
            )
        task = self._unique_task(index) if self.split == "eval" else self._find(index * STRIDE, lambda task: True)[0]
        row = {"question": task.question, "expected": task.expected}
        if self.split == "demos":
            row["completion"] = self._completion(task, index)
        return row

    def _unique_task(self, index: int) -> Task:
        while len(self._unique) <= index:
            task, found_at = self._find(self._next, lambda task: task.question not in self._known)
            self._next = found_at + 1
            self._known.add(task.question)
            self._unique.append(task)
        return self._unique[index]

    def _find(self, start: int, accept: Callable[[Task], bool]) -> tuple[Task, int]:
        if self._dataset is None:
            self._dataset = open_dataset(self.recipe.generator, self.seed, self.config)
        failure: Exception | None = None
        for index in range(start, start + MAX_TRIES):
            try:
                task = self.recipe.read(self._dataset[index], index)
            except Exception as error:  # some generators give up on some entries: no task, like a dropped one
                failure = error
                continue
            if task is not None and key_to_split(task.key) == self.split and accept(task):
                return task, index
        raise assay.AssayError(
            f"{MAX_TRIES} entries in a row must hold a new task of the split {self.split}",
            got="none" if failure is None else f"none, and {failure!r}",
            at=f"data of {self.recipe.name}, size={self.size}",
            todo="Ask for fewer tasks, or widen the generator's options",
            code="DA001",
        ) from failure

    def _completion(self, task: Task, index: int) -> str:
        if not task.habits:
            return task.expected
        draw = Random(f"{self.recipe.name} {self.seed} {index}").random()
        if draw < RIGHT:
            return task.expected
        return task.habits[0] if draw < RIGHT + MAIN else task.habits[1]


def ladder(generator: str) -> Mapping[str, Sequence[Any]]:
    """Return the attributes of difficulty of a generator with the levels of its curriculum; imports no generator."""
    return LADDERS.get(generator, {})


@assay.source("reasoning_gym.tasks", version=1, levels=ladder)
def tasks(generator: str, size: int = 10000, seed: int = 0, split: str = "train", **config: Any) -> Tasks:
    """Tasks of one generator; further arguments are attributes of difficulty or options of that generator.

    `level.levels(generator)` lists the attributes, such as `word_len`, with the levels of reasoning-gym's curriculum.

    Raises:
        AssayError: this package has no recipe for the generator.
    """
    return Tasks(_recipe(RECIPES, generator), size, seed, split, config)


@assay.source("quickstart.tasks", version=1)
def quickstart_tasks(domain: str, size: int = 10000, seed: int = 0, split: str = "train") -> Tasks:
    """Tasks of a quickstart domain; the demonstrations are of mixed quality on purpose.

    Raises:
        AssayError: there is no such quickstart domain.
    """
    return Tasks(_recipe(QUICKSTART, domain), size, seed, split, {})


def _recipe(recipes: Mapping[str, Recipe], name: str) -> Recipe:
    if name not in recipes:
        raise assay.AssayError(
            f"a source must name one of {', '.join(sorted(recipes))}", got=repr(name), at="data", code="DA001"
        )
    return recipes[name]
