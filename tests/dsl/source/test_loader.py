"""The loader: one pass reports everything, and nothing hostile costs more than its refusal."""

import resource
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from assay.dsl.source import builder
from assay.dsl.source.loader import MAX_BYTES, Loaded, load
from assay.dsl.source.mark import Mapping, Node, Scalar, Sequence, to_plain


def read(text: str) -> Loaded:
    return load(text.encode(), "f.yaml")


def places(loaded: Loaded) -> list[tuple[str, int, int]]:
    return [(item.code, item.span.line, item.span.column) for item in loaded.findings]


def texts(node: Node | None) -> Any:
    """Return a tree as texts alone."""
    if isinstance(node, Mapping):
        return {entry.key.text: texts(entry.value) for entry in node}
    if isinstance(node, Sequence):
        return [texts(item) for item in node.items]
    assert isinstance(node, Scalar)
    return node.text


@pytest.fixture(params=["fast", "pure"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers of PyYAML; the fast one is the C parser where PyYAML was built with it."""
    if request.param == "pure":
        monkeypatch.setattr(builder, "LOADER", yaml.SafeLoader)


def test_scalars_stay_text() -> None:
    text = "a: no\nb: 1e3\nc: 12:30:00\nd: 0o17\ne: 2001-01-01\nf: .nan\ng: '7'\n"
    expected = {"a": "no", "b": "1e3", "c": "12:30:00", "d": "0o17", "e": "2001-01-01", "f": ".nan", "g": "7"}
    assert expected == texts(read(text).tree)


def test_nothing_is_null_only_where_it_is_unquoted() -> None:
    tree = read("a:\nb: ~\nc: null\nd: ''\ne: 'null'\nf: Null\n").tree
    assert tree is not None
    nulls = {entry.key.text: entry.value.is_null for entry in tree if isinstance(entry.value, Scalar)}
    assert {"a": True, "b": True, "c": True, "d": False, "e": False, "f": False} == nulls
    assert {"a": "", "b": "~", "c": "null", "d": "", "e": "null", "f": "Null"} == texts(tree)


def test_quotes_and_blocks_are_explicitly_text() -> None:
    tree = read("a: 7\nb: '7'\nc: \"7\"\nd: |\n  7\ne: >\n  7\n").tree
    assert tree is not None
    assert [False, True, True, True, True] == [isinstance(e.value, Scalar) and e.value.is_quoted for e in tree]


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", [("YM001", 3, 1)]),
        ("x: {a: 1, a: 2, a: 3}\n", [("YM001", 1, 11), ("YM001", 1, 17)]),
        ("a: 1\n'a': 2\n", [("YM001", 2, 1)]),
        ("x: !t 1\n", [("YM003", 1, 4)]),
        ("x: &a !t 1\n", [("YM003", 1, 7)]),
        ("x: !t &a 1\n", [("YM003", 1, 4)]),
        ("x: !t {a: !!str 1}\ny: !<u> [2]\n", [("YM003", 1, 4), ("YM003", 1, 11), ("YM003", 2, 4)]),
        ("? [a]\n: 1\n", [("YM003", 1, 3)]),
        ("? {a: 1}\n: 1\nb: 1\nb: 2\n", [("YM001", 4, 1), ("YM003", 1, 3)]),
        ("?\n: 1\n", [("YM003", 1, 2)]),
        ("a: &m {x: 1}\n? *m\n: 1\n", [("YM003", 2, 3)]),
        ("a: {<<: 1}\n", [("YM003", 1, 9)]),
        ("a: {<<: [{b: 1}, 1]}\n", [("YM003", 1, 9)]),
    ],
)
def test_all_faults_of_a_readable_file_come_at_once(text: str, expected: list[tuple[str, int, int]]) -> None:
    loaded = read(text)
    assert sorted(expected) == sorted(places(loaded))
    assert loaded.tree is not None


def test_the_first_of_two_keys_is_kept() -> None:
    assert {"a": "1", "b": "4"} == texts(read("a: 1\na: {c: 2, c: 3}\nb: 4\n").tree)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("# only a comment\n", 1, 1),
        ("---\n", 1, 1),
        ("- a\n", 1, 1),
        ("text\n", 1, 1),
        ("a: 1\n---\nb: 2\n", 2, 1),
        ("a: 1\n...\n---\nb: 2\n", 3, 1),
        ("\ta: 1\n", 1, 1),
        ("a:\n\tb: 1\n", 2, 1),
        ("a:\n  b: 1\n\tc: 1\n", 3, 1),
        ("a:\tb\n", 1, 3),
        ("a: b\tc\n", 1, 5),
        ("a: {b: 1,\tc: 2}\n", 1, 10),
        ("a: {b: 1\nc: 2\n", 1, 4),
        ("a: [1, 2\n", 1, 4),
        ('a: "b\n', 1, 4),
        ('a: "b\nc: "d"\n', 1, 4),
        ("a: b: c\n", 1, 5),
        ("a:\n   b: 1\n  c: 2\n", 3, 3),
        ("a: *b\n", 1, 4),
        ("a: &b [*b]\n", 1, 8),
        ("a: }\n", 1, 4),
        ('a: "\\ud83d"\n', 1, 4),
    ],
)
def test_what_is_not_one_readable_document_is_refused(text: str, line: int, column: int) -> None:
    loaded = read(text)
    assert loaded.tree is None
    assert "YM005" == loaded.findings[0].code
    assert line == loaded.findings[0].span.line
    # The two parsers find a broken escape at different columns.
    assert column == loaded.findings[0].span.column or text.startswith('a: "\\u')
    assert 1 == len(loaded.findings)


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        (b"a: 1\nb: \xff\n", 2, 4),
        ("é: ".encode() + b"\xc3\n", 1, 4),
        (b"a: 1\x00\n", 1, 5),
        (b"a: \x1b[31m\n", 1, 4),
        (b"a: \x7f\n", 1, 4),
        ("a: \ufeffb\n".encode(), 1, 4),
        ("a: 1\n# \u202e\n".encode(), 2, 3),
        ("a: 'x\u2066'\n".encode(), 1, 6),
        ("p: |\n  \u2069\n".encode(), 2, 3),
        ("a: \ufffe\n".encode(), 1, 4),
        ("a: 1\n".encode("utf-16"), 1, 1),
    ],
)
def test_bytes_that_are_not_clean_text_are_refused(data: bytes, line: int, column: int) -> None:
    loaded = load(data, "f.yaml")
    assert [("YM005", line, column)] == places(loaded)
    assert loaded.tree is None


def test_a_byte_order_mark_is_no_column() -> None:
    loaded = load(b"\xef\xbb\xbfa: 1\na: 2\n", "f.yaml")
    assert [("YM001", 2, 1)] == places(loaded)
    assert {"a": "1"} == texts(loaded.tree)


def test_tabs_are_content_in_quotes_blocks_and_comments() -> None:
    text = "a: '\tb'\nc: |\n  d\te\n  \tf\n# \tg\nh: 1 # \ti\n"
    assert {"a": "\tb", "c": "d\te\n\tf\n", "h": "1"} == texts(read(text).tree)


def test_every_syntax_error_and_every_other_fault_is_reported() -> None:
    loaded = read("a: b: c\nd: 1\nd: 2\ne: !t 1\nf: g: h\nverify:\n  x: @y\n")
    assert [("YM005", 1, 5), ("YM001", 3, 1), ("YM003", 4, 4), ("YM005", 5, 5), ("YM004", 7, 6)] == places(loaded)
    assert loaded.tree is None


@pytest.mark.usefixtures("parser")
def test_anchors_and_merge_keys_work_as_in_yaml() -> None:
    text = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {<<: *a, y: 5}\nd: {w: 0, <<: [*b, *a]}\ne: *a\n"
    text += "f: &f 7\ng: [*f, *f]\n"
    tree = read(text).tree
    expected = yaml.load(text, Loader=yaml.SafeLoader)
    assert expected["d"] == {"w": 0, "x": 1, "y": 3, "z": 4}
    assert expected == yaml.safe_load(str(texts(tree)).replace("'", ""))


def test_an_explicit_key_wins_wherever_it_stands() -> None:
    tree = read("a: &a {x: 1, y: 2}\nb: {y: 9, <<: *a}\n").tree
    assert tree is not None
    below = tree.get("b")
    assert isinstance(below, Mapping)
    assert [("y", "9"), ("x", "1")] == [(entry.key.text, texts(entry.value)) for entry in below]


def test_a_quoted_merge_key_is_a_name() -> None:
    assert {"a": {"<<": "1"}} == texts(read("a: {'<<': 1}\n").tree)


def test_an_anchor_may_be_given_again() -> None:
    assert {"a": "1", "b": "1", "c": "2", "d": "2"} == texts(read("a: &x 1\nb: *x\nc: &x 2\nd: *x\n").tree)


def test_a_merged_entry_is_where_it_is_written() -> None:
    tree = read("a: &a\n  x: 1\nb:\n  <<: *a\n").tree
    assert tree is not None
    below = tree.get("b")
    assert isinstance(below, Mapping)
    entry = below.entry("x")
    assert entry is not None
    assert (2, 3) == (entry.key.span.line, entry.key.span.column)


def laughs() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return "\n".join(lines)


def merging_laughs() -> str:
    lines = ["a0: &a0 {" + ", ".join(f"k{n}: 1" for n in range(1000)) + "}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 20)}], z{n}: 1}}" for n in range(1, 20)]
    return "\n".join(lines)


HOSTILE = {
    "nested lists": "a: " + "[" * 200_000,
    "nested mappings": "a: " + "{a: " * 100_000,
    "nested blocks": "\n".join(" " * n + "a:" for n in range(1000)),
    "nested sequences": "a:\n  " + "- " * 100_000 + "x",
    "nested through aliases": "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [[[*a{n - 1}]]]\n" for n in range(1, 60)),
    "laughs": laughs(),
    "merging laughs": merging_laughs(),
    "many nodes": "a: [" + "x, " * 300_000 + "]",
    "many keys": "\n".join(f"k{n}: 1" for n in range(100_001)),
    "ten megabytes": "a: " + "x" * 10_000_000,
    "open quote": 'a: "' + "x\n" * 400_000,
    "open quotes": "\n".join(f'k{n}: "x' for n in range(80_000)),
    "open brackets in expressions": "reward: {a: " + "f(x, " * 150_000 + "}",
    "open brackets in many expressions": "verify:\n" + "".join(f"  a{n}: {{b: f(x, y}}\n" for n in range(30_000)),
    "misread expressions": "verify:\n" + "".join(f"  a{n}: f(' #')\n" for n in range(40_000)),
    "misread flow": "verify: {" + ", ".join(f"a{n}: f(x, y)" for n in range(20_000)) + "}",
    "misread colons": "verify:\n" + "".join(f"  a{n}: b: c\n" for n in range(40_000)),
    "syntax errors": "".join(f"a{n}: b: c\n" for n in range(80_000)),
    "quotes in an expression": "verify:\n  a: " + "'\"" * 400_000,
    "backslashes": 'verify: {a: f("' + "\\" * 900_000 + "x}",
    "tabs": "a: '" + "\t" * 900_000 + "'\n# " + "\t" * 100_000,
    "tab comments": "".join(f"# \t{n}\n" for n in range(90_000)) + "a: 1\n",
    "long key": "? " + "x" * 900_000 + "\n: 1\n",
    "colons": "a" + ":" * 900_000,
    "bangs": "verify:\n  a: " + "!" * 900_000,
    "anchors": "a: " + "&a " * 300_000,
    "spaces": " " * 1_000_000,
    "newlines": "\n" * 1_000_000,
    "comments": "#\n" * 500_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_answered_in_bounded_time_and_memory(name: str) -> None:
    data = HOSTILE[name].encode()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    loaded = load(data, "f.yaml")
    elapsed = time.process_time() - start
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert loaded.findings or loaded.tree is not None
    assert elapsed < 10
    assert grown_kib < 600 * 1024


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["nested lists", "nested through aliases", "laughs", "merging laughs", "many nodes", "ten megabytes"]
)
def test_bounds_are_ym005(name: str) -> None:
    loaded = load(HOSTILE[name].encode(), "f.yaml")
    assert ["YM005"] == [item.code for item in loaded.findings]
    assert loaded.tree is None


def test_the_largest_file_is_one_mebibyte() -> None:
    assert load(b"#" * (MAX_BYTES - 5) + b"\na: 1", "f.yaml").tree is not None
    assert load(b"#" * (MAX_BYTES - 4) + b"\na: 1", "f.yaml").tree is None


def test_the_deepest_file_has_64_levels() -> None:
    assert read("a: " + "[" * 63 + "]" * 63).tree is not None
    assert read("a: " + "[" * 64 + "]" * 64).tree is None


KEYS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cf", "Cn", "Co", "Zl", "Zp"]), min_size=1, max_size=8
)
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cf", "Cn", "Co"], exclude_characters="\x85"), max_size=20
)
TREES = st.recursive(
    TEXTS, lambda below: st.lists(below, max_size=4) | st.dictionaries(KEYS, below, max_size=4), max_leaves=15
)


@pytest.mark.slow
@given(
    tree=st.dictionaries(KEYS, TREES, min_size=1, max_size=4),
    is_flow=st.sampled_from([True, False, None]),
    style=st.sampled_from([None, "'", '"', "|", ">"]),
    width=st.sampled_from([20, 80, 4000]),
)
def test_a_tree_written_and_read_is_the_same(
    tree: dict[str, Any], is_flow: bool | None, style: str, width: int
) -> None:
    text = yaml.safe_dump(
        {f"k{key}": value for key, value in tree.items()},
        default_flow_style=is_flow,
        default_style=style,
        width=width,
        allow_unicode=True,
        sort_keys=False,
    )
    loaded = read(text)
    if any("tabs" in item.message for item in loaded.findings):
        return
    assert loaded.findings == ()
    assert {f"k{key}": value for key, value in tree.items()} == texts(loaded.tree)


@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_reported(data: bytes) -> None:
    loaded = load(data, "f.yaml")
    assert (loaded.tree is None) <= bool(loaded.findings)


@pytest.mark.slow
@given(text=st.text(alphabet="ab:{}[]&*!#'\"-?, \n\t<|>%@0", max_size=60))
def test_both_parsers_give_the_same_tree(text: str) -> None:
    first = read(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "LOADER", yaml.SafeLoader)
        second = read(text)
    if first.tree is not None and second.tree is not None and not first.findings and not second.findings:
        assert to_plain(first.tree) == to_plain(second.tree)
        assert first.tree == first.tree
