"""Domains over matrices and mazes. A matrix stands on one line, rows apart by ` / `."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from assay_domain_reasoning_gym.recipe.base import Entry, Recipe, Task, plain, rows

NUMBER = "reasoning_gym.number(expected)"


def _spiral_matrix(entry: Entry, index: int) -> Task:
    return plain(rows(entry["metadata"]["matrix"]), entry["answer"])


def _rotate_matrix(entry: Entry, index: int) -> Task | None:
    """Drop full turns: they ask for a copy."""
    metadata = entry["metadata"]
    if metadata["matrix"] == metadata["solution"]:
        return None
    matrix = rows(metadata["matrix"])
    return plain(f"{metadata['num_rotations'] * 90} degrees: {matrix}", rows(metadata["solution"]), key=matrix)


def _binary_matrix(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    return plain(rows(metadata["matrix"]), rows(metadata["solution"]))


def _largest_island(entry: Entry, index: int) -> Task:
    return plain(rows(entry["metadata"]["grid"]), entry["answer"])


def _rotten_oranges(entry: Entry, index: int) -> Task:
    return plain(rows(entry["metadata"]["matrix"]), entry["answer"])


def _maze(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    letters = {metadata["start"]: "S", metadata["goal"]: "G", metadata["wall"]: "#", metadata["path"]: "."}
    return plain("/".join("".join(letters[cell] for cell in row) for row in metadata["grid"]), entry["answer"])


def _game_of_life(entry: Entry, index: int) -> Task | None:
    """Drop boards that die out: they are the commonest by far."""
    board = json.loads(entry["question"].rpartition("\n\n")[2].removesuffix("."))
    after = json.loads(entry["answer"])
    if not any(map(any, after)):
        return None
    return plain(f"{entry['metadata']['simulation_steps']}: {rows(board)}", rows(after), key=rows(board))


def _game_of_life_halting(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    board = [re.findall("[01]", line) for line in entry["question"].rpartition("Initial board:")[2].splitlines()]
    shown = "/".join("".join(row) for row in board if row)
    return plain(f"{metadata['simulation_steps']} steps: {shown}", "yes" if entry["answer"] == "True" else "no", shown)


_CHANGES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "rotate": lambda change: f"turn clockwise by {change['degrees']} degrees",
    "hmirror": lambda change: "flip top to bottom",
    "vmirror": lambda change: "flip left to right",
    "dmirror": lambda change: "transpose",
    "cmirror": lambda change: "transpose along the other diagonal",
    "map": lambda change: f"{change['from']} becomes {change['to']}",
    "zero_divisible": lambda change: f"multiples of {change['k']} become 0",
    "crop": lambda change: (
        f"keep rows {change['row_start']}-{change['row_end']} and columns {change['col_start']}-{change['col_end']}"
    ),
    "remove_every_nth_row": lambda change: f"drop each row whose number {change['n']} divides",
    "remove_every_nth_col": lambda change: f"drop each column whose number {change['n']} divides",
}


def _manipulate_matrix(entry: Entry, index: int) -> Task | None:
    """Drop matrices that stay as they are or of which nothing stays."""
    metadata = entry["metadata"]
    if metadata["solution"] == metadata["matrix"] or not metadata["solution"] or not metadata["solution"][0]:
        return None
    changes = ", ".join(_CHANGES[change["transform"]](change) for change in metadata["operations"])
    return plain(f"{changes}: {rows(metadata['matrix'])}", rows(metadata["solution"]))


def _pool_matrix(entry: Entry, index: int) -> Task | None:
    """Drop means whose decimals may not end after two."""
    metadata = entry["metadata"]
    if metadata["pool_type"] == "average" and metadata["pool_size"] > 2:
        return None
    pooled = [[f"{value:g}" for value in row] for row in metadata["solution"]]
    question = f"{metadata['pool_type']} of {metadata['pool_size']} x {metadata['pool_size']}"
    return plain(f"{question}: {rows(metadata['matrix'])}", rows(pooled), key=rows(metadata["matrix"]))


RECIPES = (
    Recipe(
        "spiral_matrix",
        "spiral_matrix",
        _spiral_matrix,
        "Read clockwise from the top left corner to the middle: {question}",
        "Read a matrix in spiral order.",
        {"max_n": 4},
    ),
    Recipe(
        "rotate_matrix",
        "rotate_matrix",
        _rotate_matrix,
        "Turn clockwise by {question}",
        "Turn a matrix by quarter turns.",
        {"max_n": 4, "min_rotations": 1, "max_rotations": 3},
    ),
    Recipe(
        "binary_matrix",
        "binary_matrix",
        _binary_matrix,
        "Replace each cell by its steps to the nearest 0, up, down, left or right: {question}",
        "Distance of each cell to the nearest zero.",
        {"max_n": 5},
    ),
    Recipe(
        "largest_island",
        "largest_island",
        _largest_island,
        "Cells of the largest group of 1s that touch at sides: {question}",
        "Area of the largest island.",
        {"max_rows": 6, "max_cols": 6},
        verify=NUMBER,
    ),
    Recipe(
        "rotten_oranges",
        "rotten_oranges",
        _rotten_oranges,
        "Each minute a 2 turns the 1s at its sides into 2s. Minutes until no 1 is left, or -1: {question}",
        "Minutes until all oranges are rotten.",
        {"min_n": 3, "max_n": 6},
        verify=NUMBER,
    ),
    Recipe(
        "maze",
        "maze",
        _maze,
        "Fewest steps from S to G, # is wall: {question}",
        "Length of the shortest way through a maze.",
        {"max_grid_size": 8},
        verify=NUMBER,
    ),
    Recipe(
        "game_of_life",
        "game_of_life",
        _game_of_life,
        "Game of Life on a board whose edges meet. Board after this many steps, {question}",
        "Let cells live and die.",
        {"grid_size_x": 4, "grid_size_y": 4, "filled_cells_weights": 0.3},
    ),
    Recipe(
        "game_of_life_halting",
        "game_of_life_halting",
        _game_of_life_halting,
        "Game of Life on a board whose edges meet; does every cell die, yes or no, within {question}",
        "Tell whether all cells die.",
        eval_size=80,
    ),
    Recipe(
        "manipulate_matrix",
        "manipulate_matrix",
        _manipulate_matrix,
        "Change the matrix step by step, rows and columns counted from 1, {question}",
        "Turn, mirror, cut and change a matrix.",
        {"max_rows": 4, "max_cols": 4, "max_transforms": 3},
    ),
    Recipe(
        "pool_matrix",
        "pool_matrix",
        _pool_matrix,
        "Pool without overlap, windows cut off at the right and lower edge, decimals like 4.25, {question}",
        "Take the largest or the mean of each window of a matrix.",
        {"min_pool_size": 2, "max_pool_size": 2, "max_rows": 6, "max_cols": 6},
    ),
)
