"""Parsers of final texts: the last answer, or a refusal; never an exception."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.runtime.parser.diff import diff
from assay.runtime.parser.json import json_value
from assay.runtime.parser.text import after, boxed, fenced, last_number, tag


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"so \boxed{42}.", "42"),
        (r"\boxed{1} then \boxed{2}", "2"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{ x }", "x"),
        (r"\boxed{}", ""),
        (r"\boxed{1", None),
        (r"\boxed{{1}", None),
        ("boxed{1}", None),
        ("", None),
    ],
)
def test_boxed_is_the_last_balanced_box(text: str, answer: str | None) -> None:
    assert answer == boxed(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("why\n#### 42", "42"),
        ("#### 1\n#### 2\nbye", "2"),
        ("####", None),
        ("####  \n42", None),
        ("42", None),
    ],
)
def test_after_is_the_rest_of_the_line_behind_the_last_marker(text: str, answer: str | None) -> None:
    assert answer == after(text, "####")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer> 7 </answer>", "7"),
        ("<answer>1</answer><answer>2</answer>", "2"),
        ("<answer>1</answer><answer>2", "1"),
        ("<answer><answer>1</answer>", "1"),
        ("</answer><answer>", None),
        ("7", None),
    ],
)
def test_tag_is_the_last_closed_one(text: str, answer: str | None) -> None:
    assert answer == tag(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("```\na\n```", "a\n"),
        ("```python\na\n```\n```\nb\n```", "b\n"),
        ("````\n```\nx\n```\n````", "```\nx\n```\n"),
        ("```\na\n```\n```\nb", "a\n"),
        ("`a`", None),
    ],
)
def test_fenced_is_the_last_closed_block(text: str, answer: str | None) -> None:
    assert answer == fenced(text)


def test_fenced_with_a_language_skips_other_blocks() -> None:
    assert "a\n" == fenced("```Python\na\n```\n```sh\nb\n```", "python")
    assert None is fenced("```sh\nb\n```", "python")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("it is 3.", "3"),
        ("1 or 2", "2"),
        ("1,234.50 USD", "1234.50"),
        ("x = -5", "-5"),
        ("x = \u22125", "-5"),
        ("3-4", "4"),
        ("(1)-4", "4"),
        ("+7", "7"),
        ("2.5e-3", "2.5e-3"),
        (".5", ".5"),
        ("section 1.5", "1.5"),
        ("1,2345", "2345"),
        ("\u0663", None),
        ("none", None),
    ],
)
def test_last_number_is_written_plainly(text: str, answer: str | None) -> None:
    assert answer == last_number(text)


PATCH = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (PATCH, PATCH),
        (f"Here:\n```diff\n{PATCH}```\nDone.", PATCH),
        (f"Here:\n{PATCH}\nDone.", PATCH),
        (PATCH + PATCH.replace("x", "y"), PATCH + PATCH.replace("x", "y")),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n+c\n\\ No newline at end of file\n",) * 2,
        ("--- a/x\n+++ b/x\n@@ -1,9 +1,2 @@\n a\n", None),
        ("--- a/x\n+++ b/x\n", None),
        ("@@ -1 +1 @@\n-b\n+c\n", None),
        ("no diff", None),
    ],
)
def test_diff_is_whole_or_refused(text: str, answer: str | None) -> None:
    assert answer == diff(text)


ALL = [boxed, tag, fenced, last_number, diff, json_value, lambda text: after(text, "####")]


@given(text=st.text(alphabet=st.sampled_from('\\boxed{}<answer>/`#@-+ ,.0123\n\r\t[]"e\u2212'), max_size=200))
def test_no_text_makes_a_parser_raise(text: str) -> None:
    for parse in ALL:
        assert isinstance(parse(text), str | None)
