"""Answers that want something else than to be right."""

import time
from pathlib import Path
from typing import Any

import pytest

LONG = "9" * 2_000_000


@pytest.fixture
def rows(open_source: Any, domain: Any) -> list[dict[str, Any]]:
    source = open_source(domain, "eval", 5)
    return [source.read(index) for index in range(5)]


def test_padding_earns_nothing(domain: Any, rows: list[dict[str, Any]], grade: Any) -> None:
    for row in rows:
        expected = row["expected"]
        for answer in (
            f"{expected} or so", f"the answer is {expected}", f"{expected} {expected}", f"[{expected}]",
            f"{expected}\nor not", f"{expected};", f"{expected}\u200b", f"\ufeff{expected}", expected + "x" * 2000,
        ):  # fmt: skip
            assert not grade(domain, row, answer), answer


def test_nothing_is_run(domain: Any, rows: list[dict[str, Any]], grade: Any, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    for call in (f"open({str(trace)!r}, 'w').close()", f"__import__('os').mkdir({str(trace)!r})"):
        for answer in (call, f"[{call}]", f"{call} or {rows[0]['expected']}", f"{rows[0]['expected']}\n{call}"):
            assert not grade(domain, rows[0], answer)

    assert not trace.exists()


def test_long_and_growing_answers_are_refused_at_once(domain: Any, rows: list[dict[str, Any]], grade: Any) -> None:
    begin = time.process_time()
    for answer in (LONG, f"1/{LONG}", f"0.{LONG}", "9**9**9**9", "1e999999999", " " * 2_000_000, "a " * 1_000_000):
        assert not grade(domain, rows[0], answer)

    assert time.process_time() - begin < 2.0


@pytest.mark.parametrize("digits", ["٠١٢٣٤٥٦٧٨٩", "０１２３４５６７８９", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗"])
def test_digits_of_other_scripts_are_no_digits(
    domain: Any, rows: list[dict[str, Any]], grade: Any, digits: str
) -> None:
    table = str.maketrans("0123456789", digits)
    for row in rows:
        foreign = row["expected"].translate(table)

        assert foreign == row["expected"] or not grade(domain, row, foreign)


def test_nothing_and_odd_characters_score_as_wrong(domain: Any, rows: list[dict[str, Any]], grade: Any) -> None:
    for answer in ("", " ", "\n\n", "\x00", "\ud800", "\u202e" + rows[0]["expected"], "nan", "inf", "None", "1/0"):
        assert not grade(domain, rows[0], answer)
