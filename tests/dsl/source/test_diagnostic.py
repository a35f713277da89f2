"""What a finding looks like, to the character."""

import pytest

from assay.dsl.source.diagnostic import Finding, finding, render, sort_findings
from assay.dsl.source.loader import load
from assay.dsl.source.mark import Span


def at(line: int, column: int, end: int, source: str, hint: str = "do this") -> Finding:
    return finding("RW003", Span("conf/a.yaml", line, column, end, source), "must be, got that", hint)


def test_a_finding_shows_its_line_and_a_caret() -> None:
    source = "    invalid: 0.2*min(trace.invalid_calls, 5)"
    item = finding(
        "RW003",
        Span("conf/domain/fix_bug.yaml", 34, 14, 45, source),
        "a process term must be <= 0, got float[0, 1]",
        "flip the sign, or move the term to outcome",
    )
    expected = """\
error[RW003]: a process term must be <= 0, got float[0, 1]
  --> conf/domain/fix_bug.yaml:34:14
   |
34 |     invalid: 0.2*min(trace.invalid_calls, 5)
   |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ flip the sign, or move the term to outcome"""
    assert expected == render(item)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (5, "  --> conf/a.yaml:5:3\n   |\n 5 | a b\n   |   ^ do this"),
        (1234, "    --> conf/a.yaml:1234:3\n     |\n1234 | a b\n     |   ^ do this"),
    ],
)
def test_the_gutter_is_as_wide_as_the_line_number(line: int, expected: str) -> None:
    assert "error[RW003]: must be, got that\n" + expected == render(at(line, 3, 4, "a b"))


@pytest.mark.parametrize(
    ("source", "column", "end", "caret"),
    [
        ("漢字: x", 5, 6, "      ^"),
        ("漢字: x", 1, 3, "^^^^"),
        ("😀 + b", 5, 6, "     ^"),
        ("e\u0301 + b", 6, 7, "    ^"),
        ("a\u200db", 3, 4, " ^"),
        ("\tx: y", 5, 6, "\t   ^"),
        ("abc", 4, 4, "   ^"),
        ("abc", 4, 5, "   ^"),
    ],
)
def test_the_caret_stands_under_its_character_in_a_terminal(source: str, column: int, end: int, caret: str) -> None:
    assert f"   | {caret} do this" == render(at(1, column, end, source)).split("\n")[-1]


def test_a_long_line_is_cut_around_the_caret() -> None:
    source = "x" * 1000 + "HERE" + "y" * 1000
    lines = render(at(1, 1001, 1005, source)).split("\n")
    assert len(lines[-2]) < 220
    assert "HERE" == lines[-2][lines[-1].index("^") : lines[-1].rindex("^") + 1]
    assert lines[-2].startswith(" 1 | ...x") and lines[-2].endswith("y...")


def test_what_would_act_on_a_terminal_is_not_printed() -> None:
    item = finding("YM005", Span("f", 1, 1, 2, "\x1b[31m\u202e\u2028"), "got '\x1b'", "x\ny")
    printed = render(item)
    assert not any(char in printed for char in "\x1b\u202e\u2028")
    assert 5 == printed.count("\n") + 1


def test_a_hint_without_a_line_stands_alone() -> None:
    assert "error[RW003]: must be, got that\n  --> conf/a.yaml:1:1\n   = do this" == render(at(1, 1, 2, ""))
    assert "error[RW003]: must be, got that\n  --> conf/a.yaml:1:1" == render(at(1, 1, 2, "", ""))


def test_a_warning_says_so() -> None:
    assert render(finding("RW020", Span("f", 1, 1, 2, "x"), "m")).startswith("warning[RW020]: m")


def test_findings_come_in_the_order_of_the_text_and_once() -> None:
    late, early, same = at(9, 1, 2, ""), at(2, 5, 6, ""), at(2, 5, 6, "")
    assert [early, late] == sort_findings([late, early, same])


def test_a_loaded_file_renders_whole() -> None:
    loaded = load("a: 1\nreward:\n  outcome: {正解: min(答え.equal, 1)}\n".encode(), "f.yaml")
    expected = """\
error[YM004]: an expression must be quoted here: inside { } and [ ] YAML ends it at the comma
  --> f.yaml:3:29
   |
 3 |   outcome: {正解: min(答え.equal, 1)}
   |                                 ^ quote it: "min(答え.equal, 1)\""""
    assert [expected] == [render(item) for item in loaded.findings]


def test_a_misread_expression_that_does_not_parse_has_one_finding() -> None:
    loaded = load(b"reward:\n  a: *b.c\n  d: f(\n", "f.yaml")
    inside = finding("RX002", Span("f.yaml", 2, 6, 7), "no expression")
    beyond = finding("RX002", Span("f.yaml", 3, 6, 7), "no expression")
    elsewhere = finding("RX002", Span("g.yaml", 2, 6, 7), "no expression")
    other = finding("RX001", Span("f.yaml", 2, 6, 7), "unknown name")
    kept = sort_findings([*loaded.findings, inside, beyond, elsewhere, other])
    assert [other, *loaded.findings, beyond, elsewhere] == kept
