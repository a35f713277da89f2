"""What is shown does nothing to the terminal and passes for nothing else."""

import pytest

from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review.exhibit import MAX_CHARACTERS, Exhibit, barred, cut, make_exhibit, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", "\\u{1b}[31mred\\u{7}"),
        ("a\rb\x00c\x7f\x85", "a\\u{d}b\\u{0}c\\u{7f}\\u{85}"),
        ("yes\u202eon\u2066\u200b", "yes\\u{202e}on\\u{2066}\\u{200b}"),
        ("one\u2028two\u2029", "one\\u{2028}two\\u{2029}"),
        ("half \ud800", "half \\u{d800}"),
        ("a" + "\u0301" * 5, "a\u0301\u0301\u0301\\u{301}\\u{301}"),
        ("no\u3164\u2800\ufe0f\U000e0101", "no\\u{3164}\\u{2800}\\u{fe0f}\\u{e0101}"),
        ("tab\tand\nline", "tab    and\nline"),
        ("für 日本語 \\u{1b}", "für 日本語 \\u{1b}"),
    ],
)
def test_characters_that_act_are_shown(text: str, shown: str) -> None:
    assert shown == visible(text)


def test_every_line_stands_behind_the_bar_however_long() -> None:
    lines = barred("a" * 250 + "\n" + "日" * 60 + "\n[y/n, s u o m ? q] y", 100)
    assert all(line.startswith("  | ") for line in lines)
    assert max(sum(2 if char == "日" else 1 for char in line) for line in lines) <= 100
    assert 1 == sum("[y/n" in line for line in lines)
    assert "".join(line[4:] for line in lines[:3]) == "a" * 250


def test_huge_text_is_cut_and_shown_whole_on_demand() -> None:
    exhibit = Exhibit((("answer", "x" * 10_000_000 + "END"),))
    lines = exhibit.lines()
    assert sum(map(len, lines)) < MAX_CHARACTERS + 600
    assert any("9,996,003 characters left out; m shows all" in line for line in lines)
    assert lines[-1].endswith("END")
    many = cut("\n".join(map(str, range(10_000))))
    assert ("0", "9999", 61) == (many.split("\n")[0], many.split("\n")[-1], len(many.split("\n")))
    short = Exhibit((("answer", "x"),))
    assert short.lines(80) == short.lines(80, whole=True)
    assert 100 < len(Exhibit((("answer", "x" * 20_000),)).lines(whole=True))


def test_task_prompt_and_answer_are_shown_and_no_grade(stored: StoredRun) -> None:
    row = stored.find(1)
    assert row is not None
    lines = make_exhibit(stored.task(row), stored.played(row)).lines()
    assert ["task `q`", "task `expected`", "task `weight`", "user", "answer", "read as"] == [
        line for line in lines if not line.startswith("  | ")
    ]
    assert "  | so =10.3" in lines and "  | 10.3" in lines


def test_answer_that_did_not_parse_is_said_to_be_none(stored: StoredRun) -> None:
    row = stored.find(7)
    assert row is not None
    lines = make_exhibit(stored.task(row), stored.played(row)).lines()
    assert ["answer", "  | two and a half", "read as", "  | (nothing: it does not parse)"] == lines[-4:]
