"""Right answers of programs and stories are found again from the question alone, as in `test_oracle`."""

import datetime
import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest

from assay_domain_reasoning_gym.recipe import program, story


def ab(question: str) -> str:
    """Rewrite the rightmost pair first: the system comes to one end in any order."""
    tokens, end = question.split(), False
    while not end:
        end = True
        for place in range(len(tokens) - 2, -1, -1):
            first, second = tokens[place : place + 2]
            if first[1] == "#" and second[0] == "#":
                tokens[place : place + 2] = [] if first[0] == second[1] else [second, first]
                end = False
                break
    return " ".join(tokens)


def brainfuck(question: str) -> str:
    stack, jump = [], {}
    for place, sign in enumerate(question):
        if sign == "[":
            stack.append(place)
        elif sign == "]":
            jump[place] = stack.pop()
            jump[jump[place]] = place
    tape, at, place, written = [0] * 200, 0, 0, ""
    while place < len(question):
        sign = question[place]
        at += (sign == ">") - (sign == "<")
        tape[at] = (tape[at] + (sign == "+") - (sign == "-")) % 256
        if sign == ".":
            written += chr(tape[at])
        if (sign == "[" and not tape[at]) or (sign == "]" and tape[at]):
            place = jump[place]
        place += 1
    return written


GATES: dict[str, Callable[[list[bool]], bool]] = {
    "&": all,
    "+": any,
    "↑": lambda inputs: not all(inputs),
    "↓": lambda inputs: not any(inputs),
    "⊕": lambda inputs: sum(inputs) % 2 == 1,
}


def circuit(question: str) -> str:
    expression, _, inputs = question.partition(" with ")
    value = {name: number == "1" for name, number in re.findall(r"(\w)=(\d)", inputs)}

    def gate(text: str, parts: list[bool]) -> bool:
        signs = set(re.sub(r"[A-Z']", "", text))
        return GATES[signs.pop()](parts) if signs else parts[0]

    terms = re.findall(r"\(([^)]*)\)", expression) or [expression]
    values = [
        gate(term, [value[name] != bool(negated) for name, negated in re.findall(r"([A-Z])('?)", term)])
        for term in terms
    ]
    final = re.sub(r"\([^)]*\)", "", expression) if len(terms) > 1 else ""
    return str(int(gate(final, values)))


def emoji(question: str) -> str:
    codes = [ord(sign) for sign in question[1:]]
    return bytes(code - 0xFE00 if code < 0xFE10 else code - 0xE0100 + 16 for code in codes).decode()


RULES: dict[str, tuple[str, str]] = {
    "If the string prefix is 'ab', replace it with 'ca'.": (r"^ab", "ca"),
    "If the string suffix is 'ac', replace it with 'cb'.": (r"ac$", "cb"),
    "If the string prefix is 'bc', delete the first two characters and append 'aa' to the end.": (r"^bc(.*)$", r"\1aa"),
    "If the string suffix is 'bb', delete the last two characters.": (r"bb$", ""),
    "If the string prefix is 'cb', replace it with 'aa' and delete the last character.": (r"^cb(.*?).?$", r"aa\1"),
    "If the string prefix is 'ca', replace it with 'bb' and append 'c' to the end.": (r"^ca(.*)$", r"bb\1c"),
    "If the string suffix is 'cc', replace it with 'b' and prepend 'a' to the start.": (r"^(.*)cc$", r"a\1b"),
    "If the string prefix is 'aa', remove the first character.": (r"^aa", "a"),
    "If the string contains 'abc', replace the first occurrence with 'cab'.": ("abc", "cab"),
    "If the string contains 'bca', delete the first occurrence entirely.": ("bca", ""),
    "If the string ends with 'ba', replace it with 'ab'.": (r"ba$", "ab"),
    "If the string starts with 'cc', remove the first two characters.": (r"^cc", ""),
    "If the string contains 'acb', replace the first occurrence with its reverse ('bca').": ("acb", "bca"),
    "If the string ends with 'ca', remove the last character.": (r"ca$", "c"),
    "If the string starts with 'bb', remove the second character.": (r"^bb", "b"),
    "If the string ends with 'aa', replace it with 'cc'.": (r"aa$", "cc"),
    "If the string contains 'ca' (not at the start), remove the first occurrence found after the first character.": (
        r"^(.+?)ca",
        r"\1",
    ),
    "If the string contains an even number of 'b's (and at least one 'b'), append 'ab' at the end.": (
        r"^((?:[^b]*b[^b]*b)+[^b]*)$",
        r"\1ab",
    ),
    "If the string length is greater than 15, remove the middle character.": ("", ""),
    "If the string starts with 'ac', replace the first two characters with 'zz'.": (r"^ac", "zz"),
}


def rewrite(question: str) -> str:
    text, _, rules = question.partition(". ")
    states = [text]
    while True:
        text = states[-1]
        for rule in re.split(r"\(\d+\) ", rules)[1:]:
            pattern, new = RULES[rule.strip()]
            if (len(text) > 15) if not pattern else re.search(pattern, text):
                half = len(text) // 2
                text = re.sub(pattern, new, text, count=1) if pattern else text[:half] + text[half + 1 :]
                break
        else:
            return text
        if text in states:
            return states[-1]
        states.append(text)


def exchange(rules: str, kinds: str) -> Callable[[str], str]:
    """Return a solver that applies rules such as `AB>C` with one letter per thing."""

    def solve(question: str) -> str:
        have = "".join(name * int(count) for name, count in re.findall(r"(\w)=(\d+)", question))
        while True:
            for rule in rules.split():
                old, new = rule.split(">")
                if all(have.count(name) >= old.count(name) for name in old):
                    for name in old:
                        have = have.replace(name, "", 1)
                    have += new
                    break
            else:
                return " ".join(str(have.count(kind)) for kind in kinds)

    return solve


def dates(question: str) -> str:
    days = [datetime.date.fromisoformat(text) for text in re.findall(r"\d{4}-\d\d-\d\d", question)]
    names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    if match := re.match(r"weekday ([+-]\d+) days", question):
        return names[(days[0].toordinal() - 1 + int(match[1])) % 7]
    if match := re.match(r"weekday (\d+) days after a (\w+)", question):
        return names[(names.index(match[2]) + int(match[1])) % 7]
    if question.startswith("weekday of"):
        return days[0].strftime("%A")
    if match := re.match(r"day of the month of the (\w+) (\w+) of (\d+)-(\d+)", question):
        first = datetime.date(int(match[3]), int(match[4]), 1)
        month = [first + datetime.timedelta(place) for place in range(31)]
        fit = [day.day for day in month if day.month == first.month and names[day.weekday()] == match[2]]
        return str(fit[["first", "second", "third", "fourth", "last"].index(match[1]) if match[1] != "last" else -1])
    if question.startswith("number of days"):
        return str(sum(datetime.date.fromordinal(day).weekday() < 5 for day in range(*_span(days))))
    year = int(re.findall(r"\d+", question)[0])
    return "Yes" if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else "No"


def _span(days: list[datetime.date]) -> tuple[int, int]:
    return days[0].toordinal(), days[1].toordinal() + 1


Vector = tuple[int, int, int]
SIDES: dict[str, Vector] = {
    "top": (0, 0, 1), "bottom": (0, 0, -1), "right": (1, 0, 0), "left": (-1, 0, 0), "back": (0, 1, 0),
    "front": (0, -1, 0),
}  # fmt: skip


def cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def cube(question: str) -> str:
    """Turn vectors by Rodrigues' formula about the axis that brings the side to the top."""
    given, turns, asked = question.rstrip("?").split("; ")
    colours = {SIDES[side]: colour for side, colour in (part.split(" ") for part in given.split(", "))}
    for turn in turns.split(", "):
        half = turn == "bottom"
        axis = SIDES["right"] if half else cross(SIDES[turn], SIDES["top"])
        turned = {}
        for vector, colour in colours.items():
            along = sum(a * b for a, b in zip(axis, vector, strict=True))
            side = cross(axis, vector)
            x, y, z = (2 * a * along - v if half else a * along + s for a, v, s in zip(axis, vector, side, strict=True))
            turned[x, y, z] = colour
        colours = turned
    return colours[SIDES[asked]]


def courses(question: str) -> str:
    needs: dict[str, set[str]] = {}
    for course, before in (part.split(" needs ") for part in question.split(", ")):
        needs.setdefault(course, set()).add(before)
    while free := {course for course, before in needs.items() if not before & set(needs)}:
        needs = {course: before for course, before in needs.items() if course not in free}
    return "no" if needs else "yes"


def knights(question: str) -> str:
    claims = dict(re.findall(r"([A-Z]): (.*?)\.(?: |$)", question))
    words = {" if and only if ": " == ", "it is not so that": "not", "if ": "", " then ": " <= "}
    for name, claim in claims.items():
        text = re.sub(r"\b([A-Z]) is a knight", r"\1", re.sub(r"\b([A-Z]) is a knave", r"(not \1)", claim))
        for old, new in words.items():
            text = text.replace(old, new)
        claims[name] = text
    found = [
        truth
        for truth in itertools.product([True, False], repeat=len(claims))
        if all(
            eval(claim, dict(zip(claims, truth, strict=True))) == truth[i] for i, claim in enumerate(claims.values())
        )
    ]
    (truth,) = found
    return " ".join("knight" if is_knight else "knave" for is_knight in truth)


def needle(question: str) -> str:
    asked = question[question.rindex("Who ") + 4 : -1]
    (sentence,) = (part for part in question.split(". ") if part.endswith(f" {asked}"))
    return sentence.removesuffix(f" {asked}")


def passes(question: str) -> str:
    start, end = re.search(r"from (\S+) to (\S+)", question).groups()  # type: ignore[union-attr]
    if question.startswith("days"):
        return str(datetime.date.fromisoformat(end).toordinal() - datetime.date.fromisoformat(start).toordinal())
    seconds = [
        sum(int(part) * size for part, size in zip(at.split(":"), (3600, 60, 1), strict=False)) for at in (start, end)
    ]
    took = seconds[1] - seconds[0]
    parts = [took // 3600, took // 60 % 60, took % 60][: start.count(":") + 1]
    return ":".join(f"{part:02}" for part in parts)


SOLVERS: dict[str, Callable[[str], str | None]] = {
    "ab": ab,
    "bf": brainfuck,
    "circuit_logic": circuit,
    "emoji_mystery": emoji,
    "string_manipulation": rewrite,
    "string_splitting": exchange("A>XXY BB>X CC>Y BC>A XY>Z", "ABCXYZ"),
    "string_synthesis": exchange("ABC>D AB>F BC>E CC>F DF>GH EE>I", "ABCDEFGHI"),
    "calendar_arithmetic": dates,
    "time_intervals": passes,
    "color_cube_rotation": cube,
    "course_schedule": courses,
    "knights_knaves": knights,
    "needle_haystack": needle,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVERS)
def test_expected_answer_and_a_solvers_answer_earn_the_reward(name: str, check_solver: Any) -> None:
    check_solver(name, SOLVERS[name], 80)


def test_every_recipe_of_these_kinds_has_a_solver() -> None:
    recipes = [recipe.name for module in (program, story) for recipe in module.RECIPES]

    assert recipes == list(SOLVERS)


def test_days_do_not_hang_on_today(monkeypatch: pytest.MonkeyPatch) -> None:
    from reasoning_gym.arithmetic import time_intervals

    from assay_domain_reasoning_gym.source import tasks

    class Later(datetime.date):
        @classmethod
        def today(cls) -> "Later":
            return cls(2031, 2, 28)

    rows = [tasks("time_intervals", size=40).read(index) for index in range(40)]
    monkeypatch.setattr(time_intervals, "date", Later)
    assert rows == [tasks("time_intervals", size=40).read(index) for index in range(40)]
