"""Positions are those of the file, in code points, whatever the text is made of."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from assay.dsl.source.loader import load
from assay.dsl.source.mark import Mapping, Scalar, Span
from assay.dsl.source.position import SourceText


def scalar_in(text: str, key: str = "k") -> Scalar:
    loaded = load(text.encode(), "f.yaml")
    assert loaded.findings == ()
    assert loaded.tree is not None
    node = loaded.tree.get(key)
    assert isinstance(node, Scalar)
    return node


def where(scalar: Scalar, part: str) -> tuple[int, int, int]:
    start = scalar.text.index(part)
    span = scalar.part(start, start + len(part))
    return span.line, span.column, span.end_column


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("k: a + b\n", "b", (1, 8, 9)),
        ("k:   a + b   # c\n", "a + b", (1, 6, 11)),
        ("k: a +\n   b*c\n", "b*c", (2, 4, 7)),
        ("k: a\n\n\n     b\n", "b", (4, 6, 7)),
        ("k:\n  a + b\n", "b", (2, 7, 8)),
        ("k: 'a + b'\n", "b", (1, 9, 10)),
        ('k: "a + b"\n', "b", (1, 9, 10)),
        ("k: &x a + b\n", "b", (1, 11, 12)),
        ("k: &x # why\n  a + b\n", "b", (2, 7, 8)),
        ("k: |\n  one\n  two three\n", "three", (3, 7, 12)),
        ("k: |2\n   one\n  two\n", "two", (3, 3, 6)),
        ("k: |-\n\n    one\n\n    two\n", "two", (5, 5, 8)),
        ("k: >\n  one\n  two\n\n  three\n", "two", (3, 3, 6)),
        ("k: >\n  one\n  two\n\n  three\n", "three", (5, 3, 8)),
        ("k: >\n  one\n    more\n  two\n", "two", (4, 3, 6)),
        ('k: "one\n  two"\n', "two", (2, 3, 6)),
        ('k: "one \\\n  two"\n', "two", (2, 3, 6)),
        ("k: 'one\n\n  two'\n", "two", (3, 3, 6)),
        ("😀: 1\nk: 漢字 + b\n", "b", (2, 9, 10)),
        ("k: '😀 + b'\n", "b", (1, 9, 10)),
        ("k: e\u0301 + b\n", "b", (1, 9, 10)),
        ("j: 1\r\nk: a + b\r\n", "b", (2, 8, 9)),
        ("j: 1\r\nk: |\r\n  one\r\n  two\r\n", "two", (4, 3, 6)),
        ("j: 1\rk: a + b\r", "b", (2, 8, 9)),
        ('j: "\u2028"\nk: a + b\n', "b", (2, 8, 9)),
        ('k: "x\x85  y"\n', "y", (1, 9, 10)),
        ('k: "x\u2028  y"\n', "y", (1, 9, 10)),
        ("\ufeffk: a + b\n", "b", (1, 8, 9)),
    ],
)
def test_a_part_is_where_it_is_written(text: str, part: str, expected: tuple[int, int, int]) -> None:
    assert expected == where(scalar_in(text), part)


@pytest.mark.parametrize(
    ("text", "char"),
    [('k: "a\\nb"\n', "\n"), ('k: "x\\x41"\n', "A"), ("k: 'it''s'\n", "'"), ('k: "\\U0001F600"\n', "😀")],
)
def test_an_escape_is_at_the_scalars_start(text: str, char: str) -> None:
    scalar = scalar_in(text)
    assert (1, 4) == scalar.places[scalar.text.index(char)]
    assert scalar.span == scalar.part(scalar.text.index(char), scalar.text.index(char) + 1)


def test_what_follows_an_escape_is_where_it_is_written() -> None:
    assert (1, 11, 12) == where(scalar_in('k: "a\\x41 b"\n'), "b")
    assert (1, 9, 10) == where(scalar_in("k: 'it''s'\n"), "s")


def test_a_part_over_lines_is_cut_at_the_first() -> None:
    scalar = scalar_in("k: abc\n   def\n")
    assert Span("f.yaml", 1, 5, 7, "k: abc") == scalar.part(1, 6)


def test_places_have_one_more_for_the_end() -> None:
    assert ((1, 4), (1, 5), (1, 6)) == scalar_in("k: ab\n").places


def test_lines_are_those_of_an_editor() -> None:
    source = SourceText("f", "a\x85b\u2028c\r\nd\re\n")
    assert (1, 5) == source.place(4)
    assert (2, 1) == source.place(7)
    assert (3, 1) == source.place(9)
    assert "a\x85b\u2028c" == source.line(2)


@pytest.mark.slow
def test_a_prompt_of_a_mebibyte_costs_little() -> None:
    prompt = "k: |\n" + "  some words of a prompt\n" * 40_000
    scalar = scalar_in(prompt)
    span = scalar.part(23 * 29_999, 23 * 29_999 + 4)
    assert (30_001, 3, 7) == (span.line, span.column, span.end_column)


CHARACTERS = st.characters(
    codec="utf-8", exclude_categories=["Cs", "Cc", "Cf", "Cn", "Co", "Zl", "Zp"]
) | st.sampled_from([*"\n\n    \t'\"\\:#,{}[]&*!|>%@`-?", "😀", "\u0301"])
TEXTS = st.text(CHARACTERS, max_size=60)


@pytest.mark.slow
@given(
    text=TEXTS,
    style=st.sampled_from([None, "'", '"', "|", ">"]),
    width=st.sampled_from([10, 20, 1000]),
    depth=st.integers(0, 2),
)
def test_every_place_shows_its_own_code_point(text: str, style: str | None, width: int, depth: int) -> None:
    data: object = {"k": text, "after": "x"}
    for _ in range(depth):
        data = {"in": data, "list": ["y"]}
    dumped = yaml.safe_dump(data, allow_unicode=True, default_style=style, width=width, default_flow_style=False)
    loaded = load(dumped.encode(), "f.yaml")
    if loaded.findings and any("tab" in item.message or "control" in item.message for item in loaded.findings):
        return
    assert loaded.findings == ()
    node = loaded.tree
    for _ in range(depth):
        assert isinstance(node, Mapping)
        below = node.get("in")
        assert isinstance(below, Mapping)
        node = below
    assert isinstance(node, Mapping)
    scalar = node.get("k")
    assert isinstance(scalar, Scalar)
    assert text == scalar.text
    assert scalar.origin is not None
    offsets = [scalar.origin.offset(index) for index in range(len(text))]
    for char, offset in zip(text, offsets, strict=True):
        if offset >= 0:
            assert dumped[offset] == char or (char in " \n" and dumped[offset] in "\n\r\x85")
    known = [offset for offset in offsets if offset >= 0]
    assert sorted(known) == known
    is_escaped = "\\" in dumped or "''" in dumped
    assert is_escaped or len(known) == len(text)


PIECES = [
    "a",
    "c d",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\n  ",
    "é",
    "😀",
    ":",
    "#",
    "''",
    "\\n",
    "\\\n",
    "\\x41",
    "\\\\",
    "\r\n",
    "\u2028",
    "\x85",
    "(",
]


@pytest.mark.slow
@given(
    style=st.sampled_from(["", "'", '"', "|", ">", "|-", ">+", "|2"]),
    body=st.lists(st.sampled_from(PIECES), max_size=9).map("".join),
)
def test_places_of_texts_as_people_write_them(style: str, body: str) -> None:
    inner = body.replace("\n", "\n  ")
    value = f"{style}\n  {inner}" if style[:1] in ("|", ">") and style else f"{style}{inner}{style}"
    text = f"k: {value}\nz: 1\n"
    loaded = load(text.encode(), "f.yaml")
    scalar = None if loaded.tree is None else loaded.tree.get("k")
    if not isinstance(scalar, Scalar) or scalar.origin is None:
        return
    for index, char in enumerate(scalar.text):
        offset = scalar.origin.offset(index)
        assert offset < 0 or text[offset] == char or (char in " \n" and text[offset] in "\n\r\x85")
