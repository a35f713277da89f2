"""Domains over matrices and mazes. A matrix stands on one line, rows apart by ` / `."""

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
)
