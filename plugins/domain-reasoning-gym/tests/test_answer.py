"""What of an answer is looked into."""

import pytest

from assay_domain_reasoning_gym.answer import MAX_ANSWER, cells, moves, normalise


def test_answer_beyond_the_limit_has_no_cell_and_no_move() -> None:
    assert [["x" * MAX_ANSWER]] == cells("x" * MAX_ANSWER)
    assert [] == cells("x" * (MAX_ANSWER + 1))
    assert ["x" * MAX_ANSWER] == moves("x" * MAX_ANSWER, ",")
    assert [] == moves("x" * (MAX_ANSWER + 1), ",")


@pytest.mark.parametrize("blank", ["\u00a0", "\u2003", "\u3000", "\x1c", "\u200b", "\v", "\f"])
def test_only_ascii_blanks_are_blanks(blank: str) -> None:
    assert f"1{blank}2" == normalise(f" 1{blank}2\n")
    assert [[f"1{blank}2"]] == cells(f"1{blank}2")


def test_no_answer_has_no_part() -> None:
    assert ("", [], []) == (normalise(None), cells(None), moves(" ", ","))
