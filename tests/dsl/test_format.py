"""Formatting keeps the meaning, keeps every comment, and is done after one pass."""

import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.error import SourceError
from assay.dsl.format import format_text, quote
from assay.dsl.source.loader import load
from assay.dsl.source.mark import to_plain


def formatted(text: str) -> str:
    first = format_text(text.encode(), "f.yaml")
    assert first == format_text(first.encode(), "f.yaml")
    return first


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:   1   # c\n", "a: 1  # c\n"),
        ("a:\n      b: 1\n", "a:\n  b: 1\n"),
        ("a:\n- 1\n-   2\n", "a:\n  - 1\n  - 2\n"),
        ("a:\n- b: 1\n  c: 2\n-\n  d: 3\n", "a:\n  - b: 1\n    c: 2\n  - d: 3\n"),
        ("a:\n- - 1\n  - 2\n- []\n", "a:\n  - - 1\n    - 2\n  - []\n"),
        ("a: {b: 1,   c: [x,y]}\n", "a: {b: 1, c: [x, y]}\n"),
        ("a: {b, c: 1}\n", "a: {b, c: 1}\n"),
        ("a: {}\nb: []\n", "a: {}\nb: []\n"),
        ("a: 1\n\n\n\nb: 2\n", "a: 1\n\nb: 2\n"),
        ("\n\na: 1\n\n", "a: 1\n"),
        ("---\na: 1\n...\n", "a: 1\n"),
        ("a: 1\r\nb: |\r\n  x\r\n", "a: 1\nb: |\n  x\n"),
        ("\ufeffa: 1\n", "a: 1\n"),
        ("a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n", "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n"),
        ("a: &x\n   b: 1\nc:\n- &y d\n- *y\n", "a: &x\n  b: 1\nc:\n  - &y d\n  - *y\n"),
        ("a:\n- &x\n  b: 1\n  c: 2\n", "a:\n  - &x\n    b: 1\n    c: 2\n"),
        ("a: one\n  two\n", "a: one two\n"),
        ('a: "one\n     two"\n', 'a: "one\n  two"\n'),
        ("a: |\n      x\n        y\n", "a: |\n  x\n    y\n"),
        ("a: |2\n   x\n  y\n", "a: |2\n   x\n  y\n"),
        ("a: |+\n  x\n\n\nb: 1\n", "a: |+\n  x\n\n\nb: 1\n"),
        ("a: |\n  x\n\n\nb: 1\n", "a: |\n  x\n\nb: 1\n"),
        ("a: |-  # c\n  x\n", "a: |-  # c\n  x\n"),
        ("a: >\n    x\n    y\n\n    z\n", "a: >\n  x\n  y\n\n  z\n"),
        ("? a\n: 1\n", "a: 1\n"),
        ("a:\n  # one\n  b: 1\n  # two\nc: 2\n# three\n", "a:\n  # one\n  b: 1\n  # two\nc: 2\n# three\n"),
        ("a:\n  b:\n    c: 1\n  # of b\n# of d\nd: 2\n", "a:\n  b:\n    c: 1\n  # of b\n# of d\nd: 2\n"),
        ("a: {b: 1, # why\n  c: 2}\n", "a:\n  b: 1  # why\n  c: 2\n"),
        ("a: [1, # why\n  2]\n", "a:\n  - 1  # why\n  - 2\n"),
        ("# head\n\n# of a\na: 1\n", "# head\n\n# of a\na: 1\n"),
        ("a: {b: '" + "x" * 60 + "', c: '" + "y" * 60 + "'}\n", f"a:\n  b: '{'x' * 60}'\n  c: '{'y' * 60}'\n"),
    ],
)
def test_layout(text: str, expected: str) -> None:
    assert expected == formatted(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reward: {outcome: {a: 1, b: 2}}\n", "reward:\n  outcome:\n    a: 1\n    b: 2\n"),
        ("reward:\n  outcome: {a: min(b, 1), c: 2}\n", "reward:\n  outcome:\n    a: min(b, 1)\n    c: 2\n"),
        ("reward:\n  gate: [{if: a, else: 1}]\n", "reward:\n  gate:\n    - if: a\n      else: 1\n"),
        ("verify: {a: f(x, y)}\n", "verify:\n  a: f(x, y)\n"),
        ("verify:\n  a: f('x: ')\n", "verify:\n  a: \"f('x: ')\"\n"),
        ('verify:\n  a: f(" #")  # c\n', "verify:\n  a: 'f(\" #\")'  # c\n"),
        ("verify:\n  a: *x.y\n", 'verify:\n  a: "*x.y"\n'),
        ("verify:\n  a: %x\n", 'verify:\n  a: "%x"\n'),
        ('verify:\n  a: "x" == y\n', "verify:\n  a: '\"x\" == y'\n"),
        ("data: {train: jsonl('a, b')}\n", "data:\n  train: jsonl('a, b')\n"),
        ("data:\n  train:\n  - {q: f(a, b), e: 2}\n", 'data:\n  train:\n    - {q: "f(a, b)", e: 2}\n'),
        ("mix: {m: {domain: a.b, unlock: min(x, 1) > 0}}\n", 'mix: {m: {domain: a.b, unlock: "min(x, 1) > 0"}}\n'),
        ("answer: after(' ####')\n", "answer: \"after(' ####')\"\n"),
    ],
)
def test_expressions_are_blocks_and_quoted_where_yaml_misreads_them(text: str, expected: str) -> None:
    assert expected == formatted(text)


def test_keys_stand_in_the_order_of_the_schema_and_take_their_comments_along() -> None:
    text = "reward: {outcome: {a: 1}}\n\n# about p\nprompt: x  # beside\ndomain: a.b\nassay: 1\n"
    expected = "assay: 1\ndomain: a.b\n\n# about p\nprompt: x  # beside\nreward:\n  outcome:\n    a: 1\n"
    assert expected == formatted(text)
    assert "assay: 1\ncurriculum: c\nmix: {}\nstages: {}\n" == formatted(
        "stages: {}\nmix: {}\ncurriculum: c\nassay: 1\n"
    )


def test_an_alias_stays_below_its_anchor() -> None:
    text = "verify: &v\n  a: b\nfields: *v\n"
    assert text == formatted(text)


def test_the_order_of_terms_and_gates_stays() -> None:
    text = "reward:\n  process:\n    z: 1\n    a: 2\n  outcome:\n    b: 1\n"
    assert text == formatted(text)


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "a: !t 1\n", "a: b: c\n", "", "- a\n", "verify: {a: b\n"])
def test_a_file_with_findings_is_refused_with_all_of_them(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        format_text(text.encode(), "f.yaml")
    assert caught.value.findings


@pytest.mark.slow
@given(text=st.text())
def test_a_quoted_text_reads_as_itself(text: str) -> None:
    if any("\ud800" <= char <= "\udfff" for char in text):
        return
    assert [text] == yaml.safe_load(f"[{quote(text)}]")
    loaded = load(f"a: {quote(text)}\n".encode(), "f.yaml")
    assert loaded.findings == () and loaded.tree is not None
    assert {"a": (text, True)} == to_plain(loaded.tree)


SCALARS = st.sampled_from(
    [
        "a", "a b", "1.5", "-1", "x.y", "''", '"a\\n"', "'it''s'", '"é 😀"', "f(x)", "f(x, y)", "f('a')", "f(' #')",
        "", "~", "null", "&a b", "*a", "a:b", "a#b", "|\n{}x\n{} y\n", ">-\n{}x\n{}y\n\n{}z\n",
        "|+\n{}x\n\n\n", "|2\n{} x\n", "a\n{}b", '"a\n{}b"', "'a\n\n{}b'", "[]", "{}", "[a, b]", "[a, [b]]",
        "{a: 1}", "{a, b: c}", "{a: {b: c}}", "[a, # c\n{}b]", "{a: b, # c\n{}c: d}", "min(a, b) > 0", "*x.y",
        "!a.b", "@x", "a: b", "> 2",
    ]
)  # fmt: skip
KEYS = st.sampled_from(
    ["a", "b", "c", "k k", "'q'", '"w"', "reward", "verify", "data", "train", "mix", "unlock", "assay", "domain"]
)
COMMENTS = st.sampled_from(["", "", "", "  # c", " #c", "   # c: {d}"])
GAPS = st.sampled_from(["", "", "", "\n", "\n\n", "{}# own\n", "# edge\n", "\n{}# own\n\n", "{}  # deep\n"])


@st.composite
def texts(draw: st.DrawFn, indent: int = 0, depth: int = 0) -> str:
    """A block mapping in some layout, with comments and blank lines."""
    pad, step = " " * indent, draw(st.integers(1, 4))
    lines = []
    for key in draw(st.lists(KEYS, min_size=1, max_size=4, unique_by=lambda key: key.strip("'\""))):
        lines.append(draw(GAPS).replace("{}", pad))
        kind = draw(st.integers(0, 3)) if depth < 3 else 0
        comment = draw(COMMENTS)
        if kind <= 1:
            value = draw(SCALARS).replace("{}", pad + " " * step)
            ends = "" if value.endswith("\n") else f"{comment}\n"
            lines.append(f"{pad}{key}: {value}{ends}")
        elif kind == 2:
            lines.append(f"{pad}{key}:{comment}\n{draw(texts(indent + step, depth + 1))}")
        else:
            shift = draw(st.integers(0, 2))
            lines.append(f"{pad}{key}:{comment}\n")
            for _ in range(draw(st.integers(1, 3))):
                lines.append(draw(GAPS).replace("{}", pad))
                if draw(st.booleans()):
                    block = draw(texts(indent + shift + 2, depth + 1))
                    first = re.match(r"(?:\s*#[^\n]*\n|\s*\n)*", block)
                    assert first is not None
                    lead, body = block[: first.end()], block[first.end() :]
                    lines.append(f"{lead}{pad}{' ' * shift}- {body.lstrip(' ')}")
                else:
                    value = draw(SCALARS).replace("{}", pad + " " * (shift + 2))
                    ends = "" if value.endswith("\n") else f"{draw(COMMENTS)}\n"
                    lines.append(f"{pad}{' ' * shift}- {value}{ends}")
    return "".join(lines)


def without_quotes(tree: Any) -> Any:
    if isinstance(tree, tuple):
        return tree[0]
    if isinstance(tree, list):
        return [without_quotes(item) for item in tree]
    return {key: without_quotes(value) for key, value in tree.items()}


@pytest.mark.slow
@settings(max_examples=200)
@given(text=texts())
def test_any_readable_file_keeps_its_meaning_and_its_comments(text: str) -> None:
    loaded = load(text.encode(), "f.yaml")
    if loaded.tree is None or any(item.code != "YM004" for item in loaded.findings):
        return
    once = formatted(text)
    again = load(once.encode(), "f.yaml")
    assert again.findings == () and again.tree is not None
    assert without_quotes(to_plain(loaded.tree)) == without_quotes(to_plain(again.tree))
    assert sorted(re.findall(r"# (?:c|own|edge|deep)\b", text.replace("#c", "# c"))) == sorted(
        re.findall(r"# (?:c|own|edge|deep)\b", once.replace("#c", "# c"))
    )
