"""Puzzles whose answer is a filled board, a point of it, or letters with their digits.

A verifier reads the puzzle from the question, which this package wrote, and the answer by pattern. It needs no
solution, so that every answer that keeps the rules is right.
"""

import math
import re
from typing import Any

import assay
from assay_domain_reasoning_gym.answer import MAX_ANSWER, cells, moves, normalise
from assay_domain_reasoning_gym.verifier import Match

_PLAIN = re.compile(r"0|[1-9][0-9]{0,5}", re.ASCII)
_ORDER = re.compile(r"([0-9]+),([0-9]+)>([0-9]+),([0-9]+)", re.ASCII)
_POINT = re.compile(r"([A-Z])([1-9][0-9]?)", re.ASCII)
_DIGIT = re.compile(r"([A-Z])=([0-9])", re.ASCII)

Board = list[list[int]]
Cell = tuple[int, int]


@assay.verifier("reasoning_gym.sudoku", version=1, cost="0.05ms", timeout="2s")
def sudoku(answer: str | None, question: str) -> Match:
    """Accept every filling that keeps the given cells and has each number once per row, column and square block."""
    given = cells(question)
    board = _fill(answer, given)
    if board is None or not _is_latin(board):
        return Match(equal=False)
    size, side = len(board), math.isqrt(len(board))
    starts = range(0, size, side)
    blocks = [[board[r + i][c + j] for i in range(side) for j in range(side)] for r in starts for c in starts]
    return Match(equal=all(sorted(block) == list(range(1, size + 1)) for block in blocks))


@assay.verifier("reasoning_gym.futoshiki", version=1, cost="0.05ms", timeout="2s")
def futoshiki(answer: str | None, question: str) -> Match:
    """Accept every Latin square that keeps the given cells and the inequalities."""
    puzzle, _, orders = question.partition("; ")
    board = _fill(answer, cells(puzzle))
    if board is None or not _is_latin(board):
        return Match(equal=False)
    places = [[int(part) - 1 for part in found] for found in _ORDER.findall(orders)]
    return Match(equal=all(board[a][b] > board[c][d] for a, b, c, d in places))


@assay.verifier("reasoning_gym.kakurasu", version=1, cost="0.05ms", timeout="2s")
def kakurasu(answer: str | None, question: str) -> Match:
    """Accept every board of 0 and 1 whose weighted sums are the given ones."""
    rows, columns = ([int(part) for part in side.split(" ")[1:]] for side in question.split(", "))
    board = _fill(answer, [["_"] * len(columns) for _ in rows])
    if board is None or any(cell > 1 for row in board for cell in row):
        return Match(equal=False)
    return Match(
        equal=_weigh(board) == rows and _weigh([list(column) for column in zip(*board, strict=True)]) == columns
    )


@assay.verifier("reasoning_gym.survo", version=1, cost="0.05ms", timeout="2s")
def survo(answer: str | None, question: str) -> Match:
    """Accept every placing of exactly the given numbers after which the last row and column are the sums."""
    numbers, _, puzzle = question.partition(": ")
    given = cells(puzzle)
    board = _fill(answer, given)
    if board is None:
        return Match(equal=False)
    placed = [board[r][c] for r, row in enumerate(given) for c, cell in enumerate(row) if cell == "_"]
    lines = [*board, *(list(column) for column in zip(*board, strict=True))]
    is_right = sorted(placed) == sorted(map(int, numbers.split(" "))) and all(sum(a[:-1]) == a[-1] for a in lines)
    return Match(equal=is_right)


@assay.verifier("reasoning_gym.n_queens", version=1, cost="0.05ms", timeout="2s")
def n_queens(answer: str | None, question: str) -> Match:
    """Accept the columns of one queen per row, the given ones kept, of which no two attack each other."""
    board = _fill(answer, [question.split(" ")])
    if board is None:
        return Match(equal=False)
    columns, size = board[0], len(board[0])
    falling, rising = ({column + sign * row for row, column in enumerate(columns)} for sign in (1, -1))
    return Match(equal=sorted(columns) == list(range(1, size + 1)) and len(falling) == size and len(rising) == size)


@assay.verifier("reasoning_gym.tsumego", version=1, cost="0.2ms", timeout="2s")
def tsumego(answer: str | None, question: str) -> Match:
    """Accept every point where X takes as many O as X can with one stone."""
    rows = question.split("/")
    match = _POINT.fullmatch(normalise(answer))
    if match is None:
        return Match(equal=False)
    taken: dict[Cell, int] = {}
    for group, liberties in groups(rows, "O"):
        if len(liberties) == 1:
            taken[min(liberties)] = taken.get(min(liberties), 0) + len(group)
    point = (len(rows) - int(match[2]), ord(match[1]) - ord("A"))
    return Match(equal=point in taken and taken[point] == max(taken.values()))


@assay.verifier("reasoning_gym.cryptarithm", version=1, cost="0.05ms", timeout="2s")
def cryptarithm(answer: str | None, question: str) -> Match:
    """Accept every choice of different digits, none of them a leading 0, that makes the sum right."""
    words = re.findall(r"[A-Z]+", question, re.ASCII)
    found = [_DIGIT.fullmatch(part) for part in moves(answer, ",")]
    digits = {match[1]: match[2] for match in found if match is not None}
    if None in found or len(digits) != len(found) or set(digits) != set("".join(words)):
        return Match(equal=False)
    if len(set(digits.values())) != len(digits) or any(digits[word[0]] == "0" for word in words):
        return Match(equal=False)
    *terms, total = (int("".join(digits[letter] for letter in word)) for word in words)
    return Match(equal=sum(terms) == total)


@assay.verifier("reasoning_gym.palindromes", version=1, cost="0.05ms", timeout="2s")
def palindromes(answer: str | None, question: str, expected: str) -> Match:
    """Accept every cut of the word into palindromes that has as few pieces as the expected one."""
    pieces = normalise(answer).split(" ") if answer is not None and len(answer) <= MAX_ANSWER else []
    is_whole = "".join(pieces) == question and len(pieces) == len(expected.split(" "))
    return Match(equal=is_whole and all(piece == piece[::-1] for piece in pieces))


def groups(rows: list[str], stone: str) -> list[tuple[set[Cell], set[Cell]]]:
    """Return each group of stones that touch at sides, with its liberties, the empty points beside it."""
    left = {(r, c) for r, row in enumerate(rows) for c, mark in enumerate(row) if mark == stone}
    found = []
    while left:
        edge = [left.pop()]
        group, liberties = set(edge), set()
        while edge:
            r, c = edge.pop()
            for point in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
                if point in left:
                    left.remove(point)
                    group.add(point)
                    edge.append(point)
                elif 0 <= point[0] < len(rows) and 0 <= point[1] < len(rows) and rows[point[0]][point[1]] == ".":
                    liberties.add(point)
        found.append((group, liberties))
    return found


def _fill(answer: str | None, given: list[list[str]]) -> Board | None:
    """Return the answer's numbers where it has the given shape and keeps every cell but `_`."""
    rows = cells(answer)
    if [len(row) for row in rows] != [len(row) for row in given]:
        return None
    for row, old in zip(rows, given, strict=True):
        for cell, kept in zip(row, old, strict=True):
            if not _PLAIN.fullmatch(cell) or kept not in ("_", cell):
                return None
    return [[int(cell) for cell in row] for row in rows]


def _is_latin(board: Board) -> bool:
    full = list(range(1, len(board) + 1))
    return all(sorted(line) == full for line in (*board, *zip(*board, strict=True)))


def _weigh(board: Board) -> list[int]:
    return [sum(place * cell for place, cell in enumerate(row, 1)) for row in board]


VERIFIERS: list[Any] = [sudoku, futoshiki, kakurasu, survo, n_queens, tsumego, cryptarithm, palindromes]
