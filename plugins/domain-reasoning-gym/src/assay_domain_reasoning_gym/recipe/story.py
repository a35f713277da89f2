"""Domains told in a sentence or two: dates, a cube, courses, liars, names."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from assay_domain_reasoning_gym.recipe.base import Entry, Recipe, Task, plain

_MIDNIGHT = datetime(2000, 1, 1)
_DATES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "weekday_offset": lambda data: f"weekday {data['offset_days']:+d} days from {data['start_date']}",
    "weekday_of_date": lambda data: f"weekday of {data['target_date']}",
    "weekday_of_date_from_first_date": lambda data: f"weekday {data['delta_days']} days after a {data['first_day']}",
    "recurring_event_day": lambda data: (
        f"day of the month of the {data['ordinal']} {data['weekday']} of {data['year']}-{data['month']:02d}"
    ),
    "count_business_days": lambda data: (
        f"number of days from Monday to Friday from {data['start_date']} to {data['end_date']}, both included"
    ),
    "is_leap_year": lambda data: f"Yes if {data['year']} is a leap year, else No",
}
"""Questions by kind of task. `count_days` is left out: its metadata does not say which weekday is counted."""


def _calendar_arithmetic(entry: Entry, index: int) -> Task | None:
    metadata = entry["metadata"]
    ask = _DATES.get(metadata["task"])
    return None if ask is None else plain(ask(metadata), entry["answer"])


def _time_intervals(entry: Entry, index: int) -> Task | None:
    """Work the answer out anew: the generator's has a rounding error in it, and today's date in its metadata."""
    metadata = entry["metadata"]
    start, end = (datetime.fromisoformat(metadata[name]) for name in ("start_time", "end_time"))
    if end < start:
        return None
    if metadata["task_type"] == "date":
        return plain(f"days from {start:%Y-%m-%d} to {end:%Y-%m-%d}", (end - start).days)
    shape = "%H:%M" if metadata["task_type"] == "time" else "%H:%M:%S"
    return plain(
        f"{metadata['expected_format']} from {start:{shape}} to {end:{shape}}", f"{_MIDNIGHT + (end - start):{shape}}"
    )


def _color_cube_rotation(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    sides = ", ".join(f"{side} {colour}" for side, colour in metadata["initial_state"].items())
    question = f"{sides}; {', '.join(metadata['rotations'])}; {metadata['target_side']}?"
    return plain(question, entry["answer"])


def _course_schedule(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    needs = ", ".join(f"{course} needs {before}" for course, before in metadata["prerequisites"])
    return plain(needs, "yes" if metadata["solution"] else "no")


def _knights_knaves(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    said = " ".join(f"{_person(place)}: {_claim(said)}." for place, said in enumerate(metadata["statements"]))
    return plain(said, " ".join("knight" if is_knight else "knave" for is_knight in metadata["solution"]))


def _person(place: int) -> str:
    return chr(ord("A") + int(place))


def _claim(claim: tuple[Any, ...]) -> str:
    kind, *parts = claim
    if kind in ("telling-truth", "lying"):
        return f"{_person(parts[0])} is a {'knight' if kind == 'telling-truth' else 'knave'}"
    inside = [_claim(part) if part[0] in ("telling-truth", "lying") else f"({_claim(part)})" for part in parts]
    if kind == "not":
        return f"it is not so that {inside[0]}"
    if kind == "->":
        return f"if {inside[0]} then {inside[1]}"
    return f" {'if and only if' if kind == '<=>' else kind} ".join(inside)


def _needle_haystack(entry: Entry, index: int) -> Task | None:
    """Drop tasks whose needle fits more than one name."""
    haystack, _, asked = entry["question"].rpartition("\nWho ")
    asked = asked.removesuffix("? Reply only with a name.")
    if haystack.count(f" {asked}. ") != 1:
        return None
    return plain(f"{haystack}Who {asked}?", entry["answer"])


RECIPES = (
    Recipe(
        "calendar_arithmetic",
        "calendar_arithmetic",
        _calendar_arithmetic,
        "Write the {question}",
        "Reckon with dates and weekdays.",
    ),
    Recipe(
        "time_intervals",
        "time_intervals",
        _time_intervals,
        "Time that passes, {question}",
        "Count the time between two dates or two times of a day.",
        {"task_types": ["time", "time_seconds", "date"]},
    ),
    Recipe(
        "color_cube_rotation",
        "color_cube_rotation",
        _color_cube_rotation,
        "A cube is turned so that the named sides come to the top one after the other, the bottom by half a turn that"
        " keeps left and right. Colour of the last named side in the end: {question}",
        "Turn a cube of six colours.",
    ),
    Recipe(
        "course_schedule",
        "course_schedule",
        _course_schedule,
        "A course comes after each one it needs. Can all be taken, yes or no? {question}",
        "Find out whether courses need each other in a circle.",
        {"max_num_courses": 8, "max_cycle_length": 4},
    ),
    Recipe(
        "knights_knaves",
        "knights_knaves",
        _knights_knaves,
        "Knights say only what is true, knaves only what is not. Write knight or knave for each, in order: {question}",
        "Tell liars from others by what they say.",
        {"n_people": 3},
    ),
    Recipe(
        "needle_haystack",
        "needle_haystack",
        _needle_haystack,
        "Write a name. {question}",
        "Find one sentence among many.",
        {"min_num_statements": 3, "max_num_statements": 10},
    ),
)
