from typing import Any

import pytest

from assay.runtime.source.level import Levels, climb
from assay.runtime.source.rows import Rows


def test_one_attribute_is_raised_at_a_time_in_turns() -> None:
    levels = climb({"digits": [2, 4, 6], "terms": [2, 3], "negative": [False]})
    assert [(2, 2), (4, 2), (4, 3), (6, 3)] == [(level["digits"], level["terms"]) for level in levels]
    assert [False] * 4 == [level["negative"] for level in levels]


def test_attribute_with_one_value_is_one_level() -> None:
    assert [{"digits": 3}] == climb({"digits": [3]})


def test_rows_of_all_levels_follow_each_other_and_open_when_they_are_read() -> None:
    opened: list[int] = []

    def part(level: int, size: int) -> Any:
        def open_part() -> Rows:
            opened.append(level)
            return Rows(tuple({"at": (level, row)} for row in range(size)))

        return open_part, size

    levels = Levels([part(0, 2), part(1, 1), part(2, 3)])
    assert 6 == len(levels)
    assert [(2, 2), (0, 1), (2, 0)] == [levels.read(index)["at"] for index in (5, 1, 3)]
    assert [2, 0] == opened
    for index in (6, -1):
        with pytest.raises(IndexError):
            levels.read(index)
