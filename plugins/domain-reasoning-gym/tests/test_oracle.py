"""Each expected answer is found again from the prompt's question alone, by a solver that shares no code with it."""

import itertools
import math
import re
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from assay_domain_reasoning_gym.recipe import arithmetic, quickstart, text
from assay_domain_reasoning_gym.recipe import grid as grids


def grid(text: str) -> list[list[str]]:
    return [row.split() for row in text.split(" / ")]


def spell(question: str) -> str:
    return "".join(question[len(question) - 1 - place] for place in range(len(question)))


def caesar(question: str) -> str:
    shift, _, text = question.replace(":", "").partition(" ")
    first = "a" if text.islower() else "A"
    return "".join(
        chr((ord(letter) - ord(first) - int(shift)) % 26 + ord(first)) if letter.isalpha() else letter
        for letter in text
    )


def peel(rows: list[list[str]]) -> list[str]:
    """Take the top row off, turn the rest, and go on."""
    taken: list[str] = []
    while rows:
        taken += rows[0]
        rows = [list(row) for row in zip(*rows[1:], strict=True)][::-1]
    return taken


def sort_digits(question: str) -> str:
    direction, digits = question.split()
    return max(map("".join, itertools.permutations(digits))) if direction == "down" else "".join(sorted(digits))


def sort_words(question: str) -> str:
    direction, words = question.split(": ")
    return " ".join(sorted(words.split(), key=lambda word: word.encode(), reverse=direction == "descending"))


def sort_numbers(question: str) -> str:
    direction, numbers = question.split(": ")
    return " ".join(sorted(numbers.split(), key=Fraction, reverse=direction == "descending"))


def count_letter(question: str) -> str:
    letter, _, text = question.partition(" in ")
    return str(len(re.findall(letter, text, re.IGNORECASE)))


def group(question: str) -> str:
    groups: dict[str, list[str]] = {}
    for word in question.split():
        groups.setdefault("".join(sorted(word)), []).append(word)
    return " / ".join(sorted(" ".join(sorted(words)) for words in groups.values()))


def insert(question: str) -> str:
    return re.sub("ABCD|BCDE|CDEA|DEAB|EABC", lambda match: match[0] + match[0][0], question)


def keep(question: str) -> str:
    rule, numbers = question.split(": ")
    verb, relation, _, bound = rule.split()
    stays = [
        number
        for number in numbers.split()
        if (Fraction(number) > Fraction(bound) if relation == "larger" else Fraction(number) < Fraction(bound))
        == (verb == "keep")
    ]
    return " ".join(stays) or "none"


def alternate(question: str) -> str:
    """Count what differs from each alternating text with as many ones."""
    size = len(question)
    targets = [("01" * size)[:size], ("10" * size)[:size]]
    swaps = [
        sum(a != b for a, b in zip(question, target, strict=True)) // 2
        for target in targets
        if target.count("1") == question.count("1")
    ]
    return str(min(swaps, default=-1))


def evaluate(question: str) -> str:
    """Evaluate what this package asked: never an answer."""
    assert re.fullmatch(r"[0-9a-fx+\-*<>(). ]+", question)
    return str(eval(re.sub(r"\d+\.\d+", lambda match: f"Fraction('{match[0]}')", question), {"Fraction": Fraction}))


def hexadecimal(question: str) -> str:
    return hex(int(evaluate(question)))


def convert(question: str) -> str:
    text, source, target = re.fullmatch(r"(\w+) from base (\d+) to base (\d+)", question).groups()  # type: ignore
    number, digits = int(text, int(source)), ""
    while number:
        number, digit = divmod(number, int(target))
        digits = "0123456789abcdef"[digit] + digits
    return digits or "0"


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def count_primes(question: str) -> str:
    start, end = map(int, question.split(" to "))
    return str(sum(map(is_prime, range(start, end + 1))))


def factor(question: str) -> str:
    number, factors = int(question), []
    while number > 1:
        factors.append(next(divisor for divisor in itertools.count(2) if number % divisor == 0))
        number //= factors[-1]
    return " ".join(map(str, factors))


def roll(question: str) -> str:
    sides = [int(side) for side in re.findall(r"1d(\d+)", question)]
    bound = int(re.search(r"sum to (\d+)", question)[1])  # type: ignore
    rolls = itertools.product(*(range(1, side + 1) for side in sides))
    return str(Fraction(sum(sum(dice) >= bound for dice in rolls), math.prod(sides)))


def flip(question: str) -> str:
    heads, flips = map(int, re.findall(r"\d+", question))
    ways = [math.comb(flips, count) for count in range(flips + 1)]
    return str(Fraction(ways[heads] if question.startswith("exactly") else sum(ways[heads:]), 2**flips))


LEGS = {
    0: "flatworm, jellyfish, leech, sea slug, snail, worm, snake, fish, clam, oyster, eel",
    2: "bird, human, duck, chicken, penguin",
    4: "dog, cat, cow, horse, lion, elephant, giraffe, tiger, deer, sheep",
    6: "insect, ant, butterfly, beetle, bee, wasp, grasshopper, cricket, cockroach, praying mantis, firefly",
    8: "spider, scorpion",
    10: "crab, lobster, shrimp",
    14: "woodlouse",
}


def legs(question: str) -> str:
    known = {name: count for count, names in LEGS.items() for name in names.split(", ")}
    return str(sum(int(part.split(" ", 1)[0]) * known[part.split(" ", 1)[1]] for part in question.split(", ")))


def solve_equation(question: str) -> str:
    name, _, equation = question.partition(" in ")
    left, right = equation.split(" = ")
    at = [Fraction(eval(left, {name: Fraction(value)})) - Fraction(right) for value in (0, 1)]
    return str(-at[0] / (at[1] - at[0]))


def rotate(question: str) -> str:
    degrees, _, matrix = question.partition(" degrees: ")
    rows = grid(matrix)
    for _turn in range(int(degrees) // 90):
        rows = [[row[column] for row in reversed(rows)] for column in range(len(rows[0]))]
    return " / ".join(map(" ".join, rows))


def neighbours(cells: set[tuple[int, int]], cell: tuple[int, int]) -> list[tuple[int, int]]:
    row, column = cell
    around = ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1))
    return [other for other in around if other in cells]


def flood(cells: set[tuple[int, int]], starts: set[tuple[int, int]]) -> dict[tuple[int, int], int]:
    steps, queue = dict.fromkeys(starts, 0), deque(starts)
    while queue:
        cell = queue.popleft()
        for other in neighbours(cells, cell):
            if other not in steps:
                steps[other] = steps[cell] + 1
                queue.append(other)
    return steps


def cells_of(rows: Any, marks: str) -> set[tuple[int, int]]:
    return {(r, c) for r, row in enumerate(rows) for c, cell in enumerate(row) if cell in marks}


def distances(question: str) -> str:
    rows = grid(question)
    zeros = cells_of(rows, "0")
    return " / ".join(
        " ".join(str(min(abs(r - a) + abs(c - b) for a, b in zeros)) for c in range(len(row)))
        for r, row in enumerate(rows)
    )


def island(question: str) -> str:
    land = cells_of(grid(question), "1")
    return str(max((len(flood(land, {cell})) for cell in land), default=0))


def rot(question: str) -> str:
    rows = grid(question)
    minutes = flood(cells_of(rows, "12"), cells_of(rows, "2"))
    return str(-1 if cells_of(rows, "1") - set(minutes) else max(minutes.values(), default=0))


def walk(question: str) -> str:
    rows = question.split("/")
    (start,), (goal,) = cells_of(rows, "S"), cells_of(rows, "G")
    return str(flood(cells_of(rows, "SG."), {start})[goal])


def compute(question: str) -> str:
    """Divide by multiplying with the conjugate, in whole numbers."""
    parts = re.fullmatch(r"\((.+)\) (.) \((.+)\)", question)
    assert parts is not None
    (a, b), (c, d) = (
        (int(real), int(sign + imaginary))
        for real, sign, imaginary in (re.findall(r"(-?\d+) ([+-]) (\d+)i", parts[side])[0] for side in (1, 3))
    )
    real, imaginary = {
        "+": lambda: (a + c, b + d),
        "-": lambda: (a - c, b - d),
        "*": lambda: (a * c - b * d, a * d + b * c),
        "/": lambda: (Fraction(a * c + b * d, c * c + d * d), Fraction(b * c - a * d, c * c + d * d)),
    }[parts[2]]()
    return f"{real} {'-' if imaginary < 0 else '+'} {abs(imaginary)}i"


def extreme(question: str) -> str:
    size, _, texts = question.partition(" of ")
    numbers = [Fraction(text.replace(",", "")) for text in texts.split(" ")]
    number = max(numbers) if size == "largest" else min(numbers)
    whole, rest = divmod(abs(number) * 10**12, 10**12)
    assert rest.denominator == 1
    return f"{'-' if number < 0 else ''}{whole}.{int(rest):012d}"


def live(question: str) -> str:
    steps, _, board = question.partition(": ")
    cells = grid(board)
    for _step in range(int(steps)):
        count = [
            [
                sum(cells[(r + a) % len(cells)][(c + b) % len(row)] == "1" for a in (-1, 0, 1) for b in (-1, 0, 1))
                for c in range(len(row))
            ]
            for r, row in enumerate(cells)
        ]
        cells = [
            ["1" if n == 3 or (n == 4 and cell == "1") else "0" for n, cell in zip(counts, row, strict=True)]
            for counts, row in zip(count, cells, strict=True)
        ]
    return " / ".join(map(" ".join, cells))


def change(question: str) -> str:
    """Look each cell of the result up in the matrix before."""
    steps, _, matrix = question.partition(": ")
    cells = {(r, c): cell for r, row in enumerate(grid(matrix), 1) for c, cell in enumerate(row, 1)}
    for step in re.split(r", (?!and)", steps):
        height, width = (max(place[axis] for place in cells) for axis in (0, 1))
        numbers = [int(number) for number in re.findall(r"\d+", step)]
        if step.startswith("turn"):
            for _turn in range(numbers[0] // 90 % 4):
                cells = {(c, height + 1 - r): cell for (r, c), cell in cells.items()}
                height, width = width, height
        elif step == "flip top to bottom":
            cells = {(height + 1 - r, c): cell for (r, c), cell in cells.items()}
        elif step == "flip left to right":
            cells = {(r, width + 1 - c): cell for (r, c), cell in cells.items()}
        elif step == "transpose":
            cells = {(c, r): cell for (r, c), cell in cells.items()}
        elif step == "transpose along the other diagonal":
            cells = {(width + 1 - c, height + 1 - r): cell for (r, c), cell in cells.items()}
        elif "becomes" in step:
            cells = {place: str(numbers[1]) if cell == str(numbers[0]) else cell for place, cell in cells.items()}
        elif step.startswith("multiples"):
            cells = {place: "0" if int(cell) % numbers[0] == 0 else cell for place, cell in cells.items()}
        else:
            top, bottom, left, right = numbers if step.startswith("keep") else (1, height, 1, width)
            by_row, by_column = (numbers[0] if name in step and "drop" in step else 99 for name in ("row", "column"))
            rows = [r for r in range(top, bottom + 1) if r % by_row]
            columns = [c for c in range(left, right + 1) if c % by_column]
            cells = {(i, j): cells[r, c] for i, r in enumerate(rows, 1) for j, c in enumerate(columns, 1)}
    height, width = (max(place[axis] for place in cells) for axis in (0, 1))
    return " / ".join(" ".join(cells[r, c] for c in range(1, width + 1)) for r in range(1, height + 1))


def pool(question: str) -> str:
    kind, size, matrix = re.fullmatch(r"(\w+) of (\d+) x \d+: (.*)", question).groups()  # type: ignore
    windows: dict[tuple[int, int], list[int]] = {}
    for r, row in enumerate(grid(matrix)):
        for c, cell in enumerate(row):
            windows.setdefault((r // int(size), c // int(size)), []).append(int(cell))
    height, width = (max(place[axis] for place in windows) + 1 for axis in (0, 1))

    def value(window: list[int]) -> str:
        hundredths = Fraction(sum(window), len(window)) * 100 if kind == "average" else Fraction(max(window) * 100)
        assert hundredths.denominator == 1
        whole, rest = divmod(int(hundredths), 100)
        return f"{whole}.{rest:02d}".rstrip("0").rstrip(".")

    return " / ".join(" ".join(value(windows[r, c]) for c in range(width)) for r in range(height))


def die(question: str) -> str:
    steps, _, board = question.partition(" steps: ")
    rows = board.split("/")
    alive = {(r, c) for r, row in enumerate(rows) for c, mark in enumerate(row) if mark == "1"}
    for _ in range(int(steps)):
        count: dict[tuple[int, int], int] = {}
        for (r, c), (down, right) in itertools.product(alive, itertools.product((-1, 0, 1), repeat=2)):
            if down or right:
                cell = ((r + down) % len(rows), (c + right) % len(rows[0]))
                count[cell] = count.get(cell, 0) + 1
        alive = {cell for cell, number in count.items() if number == 3 or (number == 2 and cell in alive)}
    return "no" if alive else "yes"


SOLVERS: dict[str, Callable[[str], str]] = {
    "quickstart.spell": spell,
    "quickstart.caesar": caesar,
    "quickstart.spiral": lambda question: "".join(peel([list(question[:2]), list(question[2:])])),
    "quickstart.sort": sort_digits,
    "reasoning_gym.spell_backward": spell,
    "reasoning_gym.caesar_cipher": caesar,
    "reasoning_gym.word_sequence_reversal": lambda question: " ".join(question.split()[::-1]),
    "reasoning_gym.word_sorting": sort_words,
    "reasoning_gym.letter_counting": count_letter,
    "reasoning_gym.palindrome_generation": lambda question: next(
        map("".join, filter(lambda text: text == text[::-1], itertools.permutations(question.split())))
    ),
    "reasoning_gym.group_anagrams": group,
    "reasoning_gym.string_insertion": insert,
    "reasoning_gym.number_filtering": keep,
    "reasoning_gym.number_sorting": sort_numbers,
    "reasoning_gym.binary_alternation": alternate,
    "reasoning_gym.gcd": lambda question: str(math.gcd(*map(int, question.split()))),
    "reasoning_gym.lcm": lambda question: str(math.lcm(*map(int, question.split()))),
    "reasoning_gym.chain_sum": evaluate,
    "reasoning_gym.decimal_chain_sum": evaluate,
    "reasoning_gym.products": evaluate,
    "reasoning_gym.basic_arithmetic": evaluate,
    "reasoning_gym.bitwise_arithmetic": hexadecimal,
    "reasoning_gym.base_conversion": convert,
    "reasoning_gym.count_bits": lambda question: str(int(question).bit_count()),
    "reasoning_gym.count_primes": count_primes,
    "reasoning_gym.prime_factorization": factor,
    "reasoning_gym.fraction_simplification": lambda question: "/".join(map(str, Fraction(question).as_integer_ratio())),
    "reasoning_gym.dice": roll,
    "reasoning_gym.coin_flip": flip,
    "reasoning_gym.leg_counting": legs,
    "reasoning_gym.simple_equations": solve_equation,
    "reasoning_gym.spiral_matrix": lambda question: " ".join(peel(grid(question))),
    "reasoning_gym.rotate_matrix": rotate,
    "reasoning_gym.binary_matrix": distances,
    "reasoning_gym.largest_island": island,
    "reasoning_gym.rotten_oranges": rot,
    "reasoning_gym.maze": walk,
    "reasoning_gym.complex_arithmetic": compute,
    "reasoning_gym.number_format": extreme,
    "reasoning_gym.game_of_life": live,
    "reasoning_gym.game_of_life_halting": die,
    "reasoning_gym.manipulate_matrix": change,
    "reasoning_gym.pool_matrix": pool,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVERS)
def test_expected_answer_is_right_and_earns_the_reward(
    name: str, all_domains: Any, open_source: Any, grade: Any
) -> None:
    domain = all_domains[name]
    size = 80 if name == "reasoning_gym.game_of_life_halting" else 100
    source = open_source(domain, "eval", size)
    for index in range(size):
        row = source.read(index)
        if domain.id == "reasoning_gym.palindrome_generation" and len(row["question"]) > 13:
            continue  # more permutations than a test should try

        assert grade(domain, row, SOLVERS[domain.id](row["question"])), row
        assert grade(domain, row, row["expected"]), row


def test_every_recipe_of_these_kinds_has_a_solver() -> None:
    names = {f"quickstart.{recipe.name}" for recipe in quickstart.RECIPES}
    names |= {f"reasoning_gym.{recipe.name}" for module in (text, arithmetic, grids) for recipe in module.RECIPES}

    assert names == set(SOLVERS)
