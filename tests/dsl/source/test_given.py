"""The Python door gives the same tree as the file that says the same."""

import enum
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.declare import Domain
from assay.dsl.source.given import tree_of
from assay.dsl.source.loader import load
from assay.dsl.source.mark import Mapping, Scalar, Span, to_plain


def only(value: Any) -> Scalar | None:
    loaded = tree_of({"k": value}, "f.py", 3)
    assert loaded.tree is not None
    node = loaded.tree.get("k")
    assert node is None or isinstance(node, Scalar)
    return node


@pytest.mark.parametrize(
    ("value", "text", "is_quoted", "is_null"),
    [
        ("7", "7", True, False),
        (7, "7", False, False),
        (-1.5, "-1.5", False, False),
        (1e22, "1e+22", False, False),
        (True, "true", False, False),
        (False, "false", False, False),
        (None, "null", False, True),
        ("", "", True, False),
        ("null", "null", True, False),
        ("a\n  b: c # d", "a\n  b: c # d", True, False),
        (enum.IntEnum("N", {"A": 3})["A"], "3", False, False),
        pytest.param(10**5000, "1e9999", False, False, id="huge"),
    ],
)
def test_a_str_is_text_and_a_number_is_not(value: Any, text: str, is_quoted: bool, is_null: bool) -> None:
    scalar = only(value)
    assert scalar is not None
    assert (text, is_quoted, is_null) == (scalar.text, scalar.is_quoted, scalar.is_null)


@pytest.mark.parametrize(
    "value", [b"x", {1, 2}, object(), 1j, Path("x"), math.nan, math.inf, "\ud800", range(3), lambda: 1, Ellipsis]
)
def test_what_cannot_be_meant_is_ym003(value: Any) -> None:
    loaded = tree_of({"a": {"b": [value]}, "c": 1}, "f.py", 3)
    assert [("YM003", "a.b.0", 3)] == [(item.code, item.at, item.span.line) for item in loaded.findings]
    assert loaded.tree is not None
    assert {"a": {"b": []}, "c": ("1", False)} == to_plain(loaded.tree)


def test_a_key_is_a_str() -> None:
    loaded = tree_of({"a": {1: 2, "b": 3}}, "f.py", 3)
    assert ["YM003"] == [item.code for item in loaded.findings]


def test_a_document_that_holds_itself_is_refused() -> None:
    document: dict[str, Any] = {"a": []}
    document["a"].append(document)
    assert ["YM003"] == [item.code for item in tree_of(document, "f.py", 1).findings]


def test_findings_point_at_the_call(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_text("import assay\n\nadder = assay.Domain(\n")
    span = tree_of({}, str(path), 3).tree
    assert span is not None
    assert Span(str(path), 3, 1, 22, "adder = assay.Domain(") == span.span


def test_a_domain_reads_as_its_file() -> None:
    domain = Domain(
        domain="demo.adder",
        version=1,
        fields={"question": "str", "n": "int"},
        data={"train": [{"question": "1+1", "n": 2}]},
        prompt="{question}",
        params={"solve": 1.5},
        verify={"ans": "text.equal(n)"},
        reward={"outcome": {"correct": "1.0*ans.equal"}},
    )
    text = """\
assay: 1
domain: "demo.adder"
version: 1
fields: {question: "str", n: "int"}
data:
  train:
    - {question: "1+1", n: 2}
prompt: "{question}"
params: {solve: 1.5}
verify: {ans: "text.equal(n)"}
reward: {outcome: {correct: "1.0*ans.equal"}}
"""
    from_python = tree_of(domain.document, str(domain.path), domain.line).tree
    from_file = load(text.encode(), "f.yaml").tree
    assert from_python is not None and from_file is not None
    assert to_plain(from_file) == to_plain(from_python)


VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9)
)
TREES = st.recursive(
    VALUES,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=9,
)


@pytest.mark.slow
@given(document=st.dictionaries(st.text(max_size=5), TREES, max_size=3))
def test_every_plain_document_is_a_tree(document: dict[str, Any]) -> None:
    loaded = tree_of(document, "f.py", 1)
    assert loaded.findings == ()
    assert isinstance(loaded.tree, Mapping)
    assert tuple(document) == loaded.tree.keys()
