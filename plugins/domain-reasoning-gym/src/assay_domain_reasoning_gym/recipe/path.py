"""Domains whose answer is a sequence of steps. `check.path` plays those that have more than one right answer."""

import json
import re

from assay_domain_reasoning_gym.recipe.base import Entry, Recipe, Task, plain

_EDGES = re.compile(r"\n\|([0-9 |]+)/[0-9]+ [0-9]+ = ")

MAX_DISK_MOVES = 40


def _path_star(entry: Entry, index: int) -> Task | None:
    """Drop paths that are to be written backward."""
    metadata = entry["metadata"]
    edges = _EDGES.findall(entry["question"])
    start, goal = metadata["center"], metadata["goal"]
    if not edges or not entry["answer"].startswith(f"{start} "):
        return None
    return plain(f"{start} to {goal}: {', '.join(edges[-1].split('|'))}", entry["answer"])


def _shortest_path(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    letters = {"*": "S", "#": "G", "O": ".", "X": "#"}
    question = "/".join("".join(letters[cell] for cell in row) for row in metadata["matrix"])
    return plain(question, " ".join(metadata["solution"]) if metadata["solution"] else "infeasible")


def _sokoban(entry: Entry, index: int) -> Task | None:
    """Drop boards that are solved already."""
    question = "/".join(line.replace(" ", "") for line in entry["metadata"]["gamestr"].strip().split("\n"))
    return plain(question, entry["answer"]) if "@" in question else None


def _tower_of_hanoi(entry: Entry, index: int) -> Task | None:
    """Drop tasks of more than MAX_DISK_MOVES moves."""
    metadata = entry["metadata"]
    if metadata["solution_length"] > MAX_DISK_MOVES:
        return None
    question = (
        f"{metadata['num_disks']} disks, {metadata['num_pegs']} pegs,"
        f" from {metadata['start_peg']} to {metadata['target_peg']}"
    )
    return plain(question, " ".join(map(">".join, re.findall(r"from Peg (\d+) to Peg (\d+)", entry["answer"]))))


def _jugs(entry: Entry, index: int) -> Task:
    puzzle = entry["metadata"]["puzzle"]
    sizes = " ".join(f"{chr(ord('A') + jug)}:{size}" for jug, size in enumerate(puzzle["jug_capacities"]))
    return plain(f"{sizes}, target {puzzle['target']}", ", ".join(json.loads(entry["answer"])).replace("->", ">"))


def _quantum_lock(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    signs = {"add": "+", "subtract": "-", "multiply": "*"}
    buttons = ", ".join(
        f"{button['name']}{signs[button['type']]}{button['value']} {button['active_state']}"
        for button in metadata["buttons"]
    )
    question = f"{metadata['initial_value']} to {metadata['target_value']}: {buttons}"
    return plain(question, " ".join(metadata["solution_path"]))


def _graph_color(entry: Entry, index: int) -> Task:
    puzzle, colors = entry["metadata"]["puzzle"], entry["metadata"]["possible_answer"]
    edges = " ".join(f"{a}-{b}" for a, b in puzzle["edges"])
    question = f"{len(puzzle['vertices'])} vertices, colours 1 to {puzzle['num_colors']}; {edges}"
    return plain(question, " ".join(str(colors[vertex]) for vertex in puzzle["vertices"]))


RECIPES = (
    Recipe(
        "path_star",
        "path_star",
        _path_star,
        "Path of nodes along the edges, blanks between them, {question}",
        "Find the way to a leaf of a star of paths.",
        {"node_range": 100, "max_path_length": 4},
    ),
    Recipe(
        "shortest_path",
        "shortest_path",
        _shortest_path,
        "A shortest way from S to G past #, like `up right`, or infeasible: {question}",
        "Find a shortest way through a grid.",
        {"min_rows": 4, "max_rows": 6, "min_cols": 4, "max_cols": 6},
        verify="reasoning_gym.route(question, expected)",
    ),
    Recipe(
        "sokoban",
        "sokoban",
        _sokoban,
        "Sokoban: + wall, * player, @ box, X goal, $ box on goal, % player on goal. Moves like LDUR that put each box"
        " on a goal: {question}",
        "Push boxes onto goals.",
        {"max_w": 7, "max_h": 7, "min_boxes": 2, "max_boxes": 4},
        verify="reasoning_gym.sokoban(question)",
        eval_size=80,
        max_tokens=512,
    ),
    Recipe(
        "tower_of_hanoi",
        "tower_of_hanoi",
        _tower_of_hanoi,
        "Tower of Hanoi; write moves from peg to peg like `1>3 2>1`: {question}",
        "Move a tower of disks to another peg.",
        {"min_disks": 2, "max_disks": 8, "max_pegs": 9},
        verify="reasoning_gym.hanoi(question)",
    ),
    Recipe(
        "jugs",
        "jugs",
        _jugs,
        "Measure the target with jugs of these sizes, empty at first; write moves like `fill A, pour A>B, empty B`:"
        " {question}",
        "Measure an amount of water with jugs.",
        {"difficulty": 10},
        verify="reasoning_gym.jugs(question)",
        eval_size=80,
    ),
    Recipe(
        "quantum_lock",
        "quantum_lock",
        _quantum_lock,
        "Fewest presses, like `A B A`. A light, red at first, changes between red and green at each press; a button"
        " works only while the light has its colour: {question}",
        "Press buttons that work by turns until a number is reached.",
        {"difficulty": 6},
        verify="reasoning_gym.buttons(question, expected)",
    ),
    Recipe(
        "graph_color",
        "graph_color",
        _graph_color,
        "Colour of each vertex from 0 on, like 1 2 1, so that no edge joins two of one colour: {question}",
        "Colour a graph.",
        # Many edges: the colouring that fits most graphs fits 3 in 100.
        {"min_num_vertices": 10, "max_num_vertices": 12, "edge_probability": 0.35},
        verify="reasoning_gym.coloring(question)",
    ),
)
