"""Puzzles whose answer is a sequence of moves: each verifier plays them, and one impossible move ends the try."""

import re
from typing import Any

import assay
from assay_domain_reasoning_gym.answer import MAX_ANSWER, moves, normalise
from assay_domain_reasoning_gym.verifier import Match

_STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
_PUSHES = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
_JUG_MOVE = re.compile(r"(fill|empty) ([A-Z])|pour ([A-Z])>([A-Z])", re.ASCII)
_DISK_MOVE = re.compile(r"([1-9])>([1-9])", re.ASCII)
_BUTTON = re.compile(r"([A-Z])([+*-])([0-9]+) (any|red|green)", re.ASCII)


@assay.verifier("reasoning_gym.route", version=1, cost="0.05ms", timeout="2s")
def route(answer: str | None, question: str, expected: str) -> Match:
    """Accept every way from S to G past the walls that is as short as the expected one, or `infeasible` if that is."""
    steps = moves(answer, " ")
    if expected == "infeasible" or len(steps) != len(expected.split(" ")):
        return Match(equal=steps == [expected])
    rows = question.split("/")
    row, column = _find(rows, "S")
    for step in steps:
        if step not in _STEPS:
            return Match(equal=False)
        row, column = row + _STEPS[step][0], column + _STEPS[step][1]
        if not (0 <= row < len(rows) and 0 <= column < len(rows[row])) or rows[row][column] == "#":
            return Match(equal=False)
    return Match(equal=rows[row][column] == "G")


@assay.verifier("reasoning_gym.sokoban", version=1, cost="0.2ms", timeout="2s")
def sokoban(answer: str | None, question: str) -> Match:
    """Accept every sequence of possible moves after which each box stands on a goal."""
    text = normalise(answer)
    if not 0 < len(text) <= MAX_ANSWER or not set(text) <= set(_PUSHES):
        return Match(equal=False)
    marks = {(r, c): mark for r, row in enumerate(question.split("/")) for c, mark in enumerate(row)}
    walls, boxes, goals, players = (
        {cell for cell, mark in marks.items() if mark in kind} for kind in ("+", "@$", "X$%", "*%")
    )
    row, column = min(players)
    num_boxes = len(boxes)
    for move in text:
        down, right = _PUSHES[move]
        row, column = row + down, column + right
        if (row, column) in boxes:
            boxes = boxes - {(row, column)} | {(row + down, column + right)}
            if len(boxes) < num_boxes or (row + down, column + right) in walls:
                return Match(equal=False)
        if (row, column) in walls or (row, column) not in marks:
            return Match(equal=False)
    return Match(equal=boxes <= goals)


@assay.verifier("reasoning_gym.hanoi", version=1, cost="0.1ms", timeout="2s")
def hanoi(answer: str | None, question: str) -> Match:
    """Accept every legal sequence of moves that brings all disks to the last peg, and stops there."""
    num_disks, num_pegs, start, goal = (int(number) for number in re.findall(r"[0-9]+", question, re.ASCII))
    pegs: list[list[int]] = [[] for _ in range(num_pegs)]
    pegs[start - 1] = list(range(num_disks, 0, -1))
    for move in moves(answer, " "):
        match = _DISK_MOVE.fullmatch(move)
        if match is None or max(int(match[1]), int(match[2])) > num_pegs or len(pegs[goal - 1]) == num_disks:
            return Match(equal=False)
        source, target = pegs[int(match[1]) - 1], pegs[int(match[2]) - 1]
        if not source or (target and target[-1] <= source[-1]):
            return Match(equal=False)
        target.append(source.pop())
    return Match(equal=len(pegs[goal - 1]) == num_disks)


@assay.verifier("reasoning_gym.jugs", version=1, cost="0.1ms", timeout="2s")
def jugs(answer: str | None, question: str) -> Match:
    """Accept every sequence of moves after which a jug holds the target, and stops there."""
    size = {jug: int(amount) for jug, amount in re.findall(r"([A-Z]):([0-9]+)", question, re.ASCII)}
    target = int(question.rpartition(" ")[2])
    water = dict.fromkeys(size, 0)
    for move in moves(answer, ","):
        match = _JUG_MOVE.fullmatch(move)
        if match is None or not {match[2] or match[3], match[4] or match[2]} <= set(size) or target in water.values():
            return Match(equal=False)
        verb, jug, source, goal = match.groups()
        if verb is not None:
            water[jug] = size[jug] if verb == "fill" else 0
        elif source == goal:
            return Match(equal=False)
        else:
            amount = min(water[source], size[goal] - water[goal])
            water[source] -= amount
            water[goal] += amount
    return Match(equal=target in water.values())


@assay.verifier("reasoning_gym.buttons", version=1, cost="0.05ms", timeout="2s")
def buttons(answer: str | None, question: str, expected: str) -> Match:
    """Accept every sequence of buttons that reaches the target in as many presses as the expected one.

    A button works only while the light has its colour; each press toggles the light, which is red at first.
    """
    presses = moves(answer, " ")
    known = {name: (sign, int(value), colour) for name, sign, value, colour in _BUTTON.findall(question)}
    begin, target = (int(number) for number in re.findall(r"-?[0-9]+", question.partition(":")[0], re.ASCII))
    if len(presses) != len(expected.split(" ")):
        return Match(equal=False)
    value, light = begin, "red"
    for press in presses:
        sign, amount, colour = known.get(press, ("", 0, ""))
        if colour not in ("any", light):
            return Match(equal=False)
        value = {"+": value + amount, "-": value - amount, "*": value * amount}[sign]
        light = "green" if light == "red" else "red"
    return Match(equal=value == target)


def _find(rows: list[str], mark: str) -> tuple[int, int]:
    return next((r, row.index(mark)) for r, row in enumerate(rows) if mark in row)


@assay.verifier("reasoning_gym.coloring", version=1, cost="0.05ms", timeout="2s")
def coloring(answer: str | None, question: str) -> Match:
    """Accept every colour per vertex, in order, out of the given ones, with which no edge joins two alike."""
    size, _, colours = map(int, re.findall(r"[0-9]+", question.partition(";")[0]))
    chosen = moves(answer, " ")
    if len(chosen) != size or not set(chosen) <= {str(colour) for colour in range(1, colours + 1)}:
        return Match(equal=False)
    edges = re.findall(r"([0-9]+)-([0-9]+)", question.partition(";")[2])
    return Match(equal=all(chosen[int(a)] != chosen[int(b)] for a, b in edges))


VERIFIERS: list[Any] = [route, sokoban, hanoi, jugs, buttons, coloring]
