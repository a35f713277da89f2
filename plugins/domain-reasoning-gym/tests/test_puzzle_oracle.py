"""Right answers of puzzles are found again from the question alone, as in `test_oracle`."""

import itertools
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assay_domain_reasoning_gym.recipe import board, path


def lines_of(question: str) -> list[list[str]]:
    return [row.split(" ") for row in question.split(" / ")]


def show(rows: list[list[str]]) -> str:
    return " / ".join(map(" ".join, rows))


def search(rows: list[list[str]], is_free: Callable[[list[list[str]], int, int], bool]) -> str | None:
    """Fill the blank with the fewest choices first."""
    size = len(rows)
    best: tuple[int, int, list[str]] | None = None
    for r, c in itertools.product(range(size), range(size)):
        if rows[r][c] == "_":
            fit = []
            for value in map(str, range(1, size + 1)):
                rows[r][c] = value
                if is_free(rows, r, c):
                    fit.append(value)
            rows[r][c] = "_"
            if best is None or len(fit) < len(best[2]):
                best = (r, c, fit)
    if best is None:
        return show(rows)
    r, c, fit = best
    for value in fit:
        rows[r][c] = value
        if done := search(rows, is_free):
            return done
    rows[r][c] = "_"
    return None


def once(rows: list[list[str]], r: int, c: int) -> bool:
    return rows[r].count(rows[r][c]) == 1 and [row[c] for row in rows].count(rows[r][c]) == 1


def sudoku(question: str) -> str | None:
    def is_free(rows: list[list[str]], r: int, c: int) -> bool:
        side = {4: 2, 9: 3}[len(rows)]
        top, left = r // side * side, c // side * side
        block = [cell for row in rows[top : top + side] for cell in row[left : left + side]]
        return once(rows, r, c) and block.count(rows[r][c]) == 1

    return search(lines_of(question), is_free)


def futoshiki(question: str) -> str | None:
    puzzle, _, orders = question.partition("; ")
    pairs = [tuple(int(n) - 1 for n in re.findall(r"\d+", order)) for order in orders.split() if order != "none"]

    def is_free(rows: list[list[str]], r: int, c: int) -> bool:
        kept = (rows[a][b] > rows[d][e] for a, b, d, e in pairs if "_" not in (rows[a][b], rows[d][e]))
        return once(rows, r, c) and all(kept)

    return search(lines_of(puzzle), is_free)


def kakurasu(question: str) -> str:
    wanted, columns = ([int(n) for n in side.split(" ")[1:]] for side in question.split(", "))
    size = len(columns)
    lines = list(itertools.product((0, 1), repeat=size))

    def weight(cells: Any) -> int:
        return sum(place * cell for place, cell in enumerate(cells, 1))

    fits = [[line for line in lines if weight(line) == total] for total in wanted]
    for rows in itertools.product(*fits):
        if [weight(column) for column in zip(*rows, strict=True)] == columns:
            return " / ".join(" ".join(map(str, row)) for row in rows)
    raise AssertionError(question)


def survo(question: str) -> str:
    numbers, _, puzzle = question.partition(": ")
    for order in itertools.permutations(numbers.split(" ")):
        left = iter(order)
        rows = [[next(left) if cell == "_" else cell for cell in row] for row in lines_of(puzzle)]
        values = [[int(cell) for cell in row] for row in rows]
        if all(2 * line[-1] == sum(line) for line in (*values, *zip(*values, strict=True))):
            return show(rows)
    raise AssertionError(question)


def queens(question: str) -> str:
    given = question.split(" ")
    for order in itertools.permutations(range(1, len(given) + 1)):
        if all(kept in ("_", str(column)) for kept, column in zip(given, order, strict=True)) and all(
            abs(a - b) != j - i for (i, a), (j, b) in itertools.combinations(enumerate(order), 2)
        ):
            return " ".join(map(str, order))
    raise AssertionError(question)


def stones(question: str) -> str:
    """Try every point: play, and count the stones that flood finds without breath."""
    size = len(question.split("/"))
    marks = {(r, c): mark for r, row in enumerate(question.split("/")) for c, mark in enumerate(row)}

    def taken(played: dict[tuple[int, int], str]) -> int:
        alive = {cell for cell, mark in played.items() if mark == "."}
        while True:
            near = {(r + a, c + b) for r, c in alive for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0))}
            more = {cell for cell in near - alive if played.get(cell) == "O"}
            if not more:
                return sum(mark == "O" for mark in played.values()) - sum(played[cell] == "O" for cell in alive)
            alive |= more

    r, c = max((cell for cell in marks if marks[cell] == "."), key=lambda cell: taken({**marks, cell: "X"}))
    return f"{chr(ord('A') + c)}{size - r}"


def letters(question: str) -> str:
    words = [word[::-1] for word in re.findall(r"[A-Z]+", question)]
    *terms, total = words

    def fill(column: int, carry: int, known: dict[str, int]) -> Iterator[dict[str, int]]:
        if column == len(total):
            if carry == 0 and all(known[word[-1]] for word in words):
                yield known
            return
        new = sorted({word[column] for word in words if column < len(word)} - set(known))
        for digits in itertools.permutations(sorted(set(range(10)) - set(known.values())), len(new)):
            tried = known | dict(zip(new, digits, strict=True))
            amount = carry + sum(tried[word[column]] for word in terms if column < len(word))
            if amount % 10 == tried[total[column]]:
                yield from fill(column + 1, amount // 10, tried)

    return ",".join(f"{letter}={digit}" for letter, digit in next(fill(0, 0, {})).items())


def pieces(question: str) -> str:
    best = [""]
    for end in range(1, len(question) + 1):
        cuts = [
            f"{best[start]} {question[start:end]}".strip()
            for start in range(end)
            if question[start:end] == question[start:end][::-1]
        ]
        best.append(min(cuts, key=lambda cut: cut.count(" ")))
    return best[-1]


def star(question: str) -> str:
    ends, edges = question.split(": ")
    start, goal = ends.split(" to ")
    before = {b: a for a, b in (edge.split(" ") for edge in edges.split(", "))}
    way = [goal]
    while way[0] != start:
        way.insert(0, before[way[0]])
    return " ".join(way)


def breadth_first(start: Any, steps: Callable[[Any], Iterator[tuple[str, Any]]], is_goal: Any) -> list[str] | None:
    queue, seen = deque([(start, [])]), {start}
    while queue:
        state, way = queue.popleft()
        if is_goal(state):
            return way
        for name, after in steps(state):
            if after not in seen:
                seen.add(after)
                queue.append((after, [*way, name]))
    return None


COMPASS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def route(question: str) -> str:
    marks = {(r, c): mark for r, row in enumerate(question.split("/")) for c, mark in enumerate(row)}

    def steps(cell: tuple[int, int]) -> Iterator[tuple[str, tuple[int, int]]]:
        for name, (a, b) in COMPASS.items():
            if marks.get((cell[0] + a, cell[1] + b), "#") != "#":
                yield name, (cell[0] + a, cell[1] + b)

    (start,) = (cell for cell, mark in marks.items() if mark == "S")
    way = breadth_first(start, steps, lambda cell: marks[cell] == "G")
    return "infeasible" if way is None else " ".join(way)


def push(question: str) -> str:
    marks = {(r, c): mark for r, row in enumerate(question.split("/")) for c, mark in enumerate(row)}
    goals = {cell for cell, mark in marks.items() if mark in "X$%"}

    def steps(state: Any) -> Iterator[tuple[str, Any]]:
        (r, c), boxes = state
        for name, (a, b) in COMPASS.items():
            to, beyond = (r + a, c + b), (r + 2 * a, c + 2 * b)
            if marks[to] == "+" or (to in boxes and (marks[beyond] == "+" or beyond in boxes)):
                continue
            yield name[0].upper(), (to, boxes - {to} | {beyond} if to in boxes else boxes)

    (player,) = (cell for cell, mark in marks.items() if mark in "*%")
    start = (player, frozenset(cell for cell, mark in marks.items() if mark in "@$"))
    return "".join(breadth_first(start, steps, lambda state: state[1] <= goals) or [])


def tower(question: str) -> str:
    disks, pegs, start, goal = map(int, re.findall(r"\d+", question))

    def carry(count: int, a: int, b: int) -> list[str]:
        spare = next(peg for peg in range(1, pegs + 1) if peg not in (a, b))
        return [*carry(count - 1, a, spare), f"{a}>{b}", *carry(count - 1, spare, b)] if count else []

    return " ".join(carry(disks, start, goal))


def pour(question: str) -> str:
    sizes = [int(size) for size in re.findall(r":(\d+)", question)]
    target = int(question.rsplit(" ", maxsplit=1)[-1])

    def steps(water: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
        def after(**amounts: int) -> tuple[int, ...]:
            return tuple(amounts.get(chr(65 + jug), amount) for jug, amount in enumerate(water))

        for jug, size in enumerate(sizes):
            name = chr(65 + jug)
            yield f"fill {name}", after(**{name: size})
            yield f"empty {name}", after(**{name: 0})
            for other, room in enumerate(sizes):
                amount = min(water[jug], room - water[other])
                if other != jug:
                    into = chr(65 + other)
                    yield f"pour {name}>{into}", after(**{name: water[jug] - amount, into: water[other] + amount})

    return ", ".join(breadth_first((0,) * len(sizes), steps, lambda water: target in water) or [])


def press(question: str) -> str:
    ends, buttons = question.split(": ")
    start, target = map(int, ends.split(" to "))

    def steps(state: tuple[int, int]) -> Iterator[tuple[str, tuple[int, int]]]:
        value, light = state
        for name, sign, amount, colour in re.findall(r"(\w)([-+*])(\d+) (\w+)", buttons):
            if colour in ("any", ("red", "green")[light]) and abs(value) < 10_000:
                by = int(amount)
                yield name, (value * by if sign == "*" else value + by if sign == "+" else value - by, 1 - light)

    return " ".join(breadth_first((start, 0), steps, lambda state: state[0] == target) or [])


def paint(question: str) -> str | None:
    size, _, colours = map(int, re.findall(r"\d+", question.partition(";")[0]))
    edges = [tuple(map(int, edge.split("-"))) for edge in question.partition("; ")[2].split()]
    for chosen in itertools.product(range(colours, 0, -1), repeat=size):
        if all(chosen[a] != chosen[b] for a, b in edges):
            return " ".join(map(str, chosen))
    return None


SOLVERS: dict[str, Callable[[str], str | None]] = {
    "mini_sudoku": sudoku,
    "sudoku": sudoku,
    "futoshiki": futoshiki,
    "kakurasu": kakurasu,
    "survo": survo,
    "n_queens": queens,
    "tsumego": stones,
    "cryptarithm": letters,
    "palindrome_partitioning": pieces,
    "path_star": star,
    "shortest_path": route,
    "sokoban": push,
    "tower_of_hanoi": tower,
    "jugs": pour,
    "quantum_lock": press,
    "graph_color": paint,
}

# Rows of domains whose entries, or whose solver here, take long.
ROWS = {"sudoku": 20, "futoshiki": 30, "sokoban": 15, "jugs": 30, "n_queens": 20}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVERS)
def test_expected_answer_and_a_solvers_answer_earn_the_reward(name: str, check_solver: Any) -> None:
    check_solver(name, SOLVERS[name], ROWS.get(name, 80))


def test_every_recipe_of_these_kinds_has_a_solver() -> None:
    recipes = [recipe.name for module in (board, path) for recipe in module.RECIPES]

    assert recipes == list(SOLVERS)
