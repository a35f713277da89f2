"""An expression that YAML misreads is YM004 at the point where YAML went wrong, and is still read as it was meant.

In the texts below ▲ stands before the code point that gets the caret.
"""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from assay.dsl.source import builder
from assay.dsl.source.loader import Loaded, load
from assay.dsl.source.mark import Mapping, Scalar, Sequence
from assay.dsl.source.misread import flow_end, is_expression_place, is_unfinished, keys_at


@pytest.fixture(params=["fast", "pure"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers of PyYAML; the fast one is the C parser where PyYAML was built with it."""
    if request.param == "pure":
        monkeypatch.setattr(builder, "LOADER", yaml.SafeLoader)


def carets(text: str) -> list[tuple[str, int, int]]:
    """Return where the marks of a text are."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        found += [("YM004", number, at + 1 - index) for index, at in enumerate(_all(line))]
    return found


def _all(line: str) -> list[int]:
    return [at for at, char in enumerate(line) if char == "▲"]


def read(text: str) -> Loaded:
    return load(text.replace("▲", "").encode(), "f.yaml")


def places(loaded: Loaded) -> list[tuple[str, int, int]]:
    return [(item.code, item.span.line, item.span.column) for item in loaded.findings]


def text_at(tree: Mapping | None, path: str) -> str:
    node: Mapping | Sequence | Scalar | None = tree
    for name in path.split("."):
        if isinstance(node, Sequence):
            node = node.items[int(name)]
        else:
            node = node.get(name) if isinstance(node, Mapping) else None
    assert isinstance(node, Scalar)
    return node.text


@pytest.mark.parametrize(
    "value",
    [
        "min(a.b▲, 1)",
        "min(a.b▲, max(1, 2))",
        "(a▲, b)",
        'f(x▲, "y")',
        'f("a▲, b")',
        "f(x▲, [1, 2])",
        "f(x▲, {a})",
        "f(x▲,y)",
        "x▲[0]",
        "x▲{0}",
        "a if b else c▲: d",
        '"x" ▲== a',
        'f(" ▲#")',
        "▲@x",
        "▲`x`",
        "▲%x",
        "▲!x.y",
        "▲*x.y",
        "▲*x",
        "▲&x.y",
    ],
)
def test_inside_a_flow_mapping(value: str) -> None:
    text = f"a: 1\nreward:\n  outcome: {{correct: {value}, other: 2}}\nz: 1\n"
    loaded = read(text)
    assert carets(text) == places(loaded)
    assert value.replace("▲", "") == text_at(loaded.tree, "reward.outcome.correct")
    assert "2" == text_at(loaded.tree, "reward.outcome.other")
    assert "1" == text_at(loaded.tree, "z")


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("a if b else c▲: d", "a if b else c: d"),
        ('f("Answer▲: ")', 'f("Answer: ")'),
        ('f(" ▲#")  # really', 'f(" #")'),
        ("f(x, ▲# first\n    y)", "f(x, # first y)"),
        ("f(x,\n    'A▲: ')", "f(x, 'A: ')"),
        ('"x" ▲== a.b', '"x" == a.b'),
        ("'x' ▲== a.b # c", "'x' == a.b"),
        ("▲*x.y", "*x.y"),
        ("▲*x", "*x"),
        ("▲&x.y", "&x.y"),
        ("▲!x.y # c", "!x.y"),
        ("▲!x.y and z", "!x.y and z"),
        ("▲%x", "%x"),
        ("▲@x", "@x"),
        ("▲`x`", "`x`"),
        ("▲- x", "- x"),
        ("▲> 2", "> 2"),
        ("▲>= 0.7", ">= 0.7"),
        ("▲|x|", "|x|"),
    ],
)
def test_on_a_line_of_its_own(value: str, meant: str) -> None:
    text = f"a: 1\nverify:\n  correct: {value}\n  other: 2\nz: 1\n"
    loaded = read(text)
    assert carets(text) == places(loaded)
    assert meant == text_at(loaded.tree, "verify.correct")
    assert "2" == text_at(loaded.tree, "verify.other")
    assert "1" == text_at(loaded.tree, "z")


@pytest.mark.parametrize(
    ("text", "path", "meant"),
    [
        ('answer: after(" ▲####")\n', "answer", 'after(" ####")'),
        ("answer: after('A▲: ')\n", "answer", "after('A: ')"),
        ("sampler: ▲@x\n", "sampler", "@x"),
        ("admit: a▲: b\n", "admit", "a: b"),
        ("require:\n  share: ▲>= 0.7\n", "require.share", ">= 0.7"),
        ("require: {tier: [f(a▲, b), c]}\n", "require.tier.0", "f(a, b)"),
        ("mix:\n  m: {unlock: min(a▲, b) > 0}\n", "mix.m.unlock", "min(a, b) > 0"),
        ("mix:\n  m:\n    unlock: a▲: b\n", "mix.m.unlock", "a: b"),
        ("mix: {m: {sampler: f(a▲, b)}}\n", "mix.m.sampler", "f(a, b)"),
        ("stages:\n  s: {until: min(a▲, b) > 0}\n", "stages.s.until", "min(a, b) > 0"),
        ("reward:\n  gate:\n    - if: ▲!x.y\n      else: 1\n", "reward.gate.0.if", "!x.y"),
        ("reward:\n  gate:\n  - {if: f(a▲, b), else: 1}\n", "reward.gate.0.if", "f(a, b)"),
        ("data: {train: jsonl('a▲, b')}\n", "data.train", "jsonl('a, b')"),
        ("data:\n  train:\n    - {q: f(a▲, b), e: 2}\n", "data.train.0.q", "f(a, b)"),
        ("data:\n  train:\n    - q: Solve▲: 1+1\n", "data.train.0.q", "Solve: 1+1"),
        ("reward:\n  outcome: {a: f(x▲, y), b: g(1▲, 2)}\n", "reward.outcome.b", "g(1, 2)"),
        ("verify: {a: f(x▲,\n    y), b: 1}\n", "verify.a", "f(x, y)"),
    ],
)
def test_wherever_expressions_stand(text: str, path: str, meant: str) -> None:
    loaded = read(text)
    assert carets(text) == places(loaded)
    assert meant == text_at(loaded.tree, path)


@pytest.mark.parametrize(
    "text", ["summary: @x\n", "summary: a: b\n", "prompt: *x.y\n", "controls:\n  a: {reward: > 1}\n"]
)
def test_elsewhere_it_is_yaml_that_is_wrong(text: str) -> None:
    loaded = read(text)
    assert ["YM005"] == [item.code for item in loaded.findings]
    assert loaded.tree is None


@pytest.mark.parametrize(
    "text",
    [
        "data:\n  train:\n    - {q: 'sad :(', e: x}\n    - {q: sad :(, e: 'x :)'}\n    - {q: what's up, e: it's}\n",
        "data:\n  train:\n    - {q: sad :(, e: x :)}\n",
        "verify:\n  a: f(x, y)  # (why\n",
        "verify: {a: 'f(x, y)', b: f(x)}\n",
        "reward:\n  outcome:\n    a: f(x,\n      y)\n",
        "reward: &r {outcome: {a: 1}}\n",
        "summary: {a: f(x, y)}\n",
        "require:\n  cost: <= 0.02 USD\n",
    ],
)
def test_what_yaml_reads_as_it_is_meant_is_left_alone(text: str) -> None:
    loaded = read(text)
    assert loaded.findings == ()
    assert loaded.tree is not None


def test_brackets_that_never_close_are_left_to_the_expressions_own_reader() -> None:
    loaded = read("reward:\n  outcome: {a: min(x, y}\nz: 1\n")
    assert loaded.findings == ()
    assert "min(x, y" == text_at(loaded.tree, "reward.outcome.a")


def test_a_wrong_indentation_is_no_misread_expression() -> None:
    loaded = read("reward:\n  outcome: x\n    solved: 1\n")
    assert [("YM005", 3, 11)] == places(loaded)


def test_a_tag_is_no_misread_expression() -> None:
    assert [("YM003", 2, 6)] == places(read("verify:\n  a: !!float 1.0\n"))
    assert [("YM003", 2, 6)] == places(read("verify:\n  a: !x f(y)\n"))


def test_a_repaired_scalar_says_so_and_has_places() -> None:
    tree = read("reward:\n  outcome: {a: min(x, y)}\n").tree
    assert tree is not None
    outcome = tree.get("reward")
    assert isinstance(outcome, Mapping)
    terms = outcome.get("outcome")
    assert isinstance(terms, Mapping)
    scalar = terms.get("a")
    assert isinstance(scalar, Scalar)
    assert scalar.is_repaired
    assert (2, 23) == scalar.places[scalar.text.index("y")]


def test_everything_misread_is_reported_at_once() -> None:
    text = "reward:\n  success: a▲: b\n  outcome: {c: f(d▲, e)}\nverify:\n  g: ▲!h\n  i: ▲@j\nanswer: k(' ▲#')\n"
    loaded = read(text)
    assert carets(text) == places(loaded)
    assert loaded.tree is not None


def test_an_unfinished_text_ends_inside_a_bracket_or_quote() -> None:
    assert all(is_unfinished(text) for text in ["f(", "'a", '"', "f('a)", "[{}", 'f("\\")'])
    assert not any(is_unfinished(text) for text in ["f()", "'a'", "it's", "a)", "", '"\\""', "f(')')"])


def test_a_flow_expression_ends_at_its_own_comma_or_bracket() -> None:
    assert (7, True) == flow_end("f(a, b), c}", 0)
    assert (3, True) == flow_end("a+b}", 0)
    assert (4, False) == flow_end("f(a,}", 0)
    assert flow_end("f(a, b", 0) is None
    assert flow_end("a\n, b}", 0) is None


def test_expression_places_are_those_of_the_language() -> None:
    assert is_expression_place(("reward", "outcome", "a"))
    assert is_expression_place(("stages", "a", "until"))
    assert not is_expression_place(("stages", "a", "share"))
    assert not is_expression_place(("prompt",))
    assert not is_expression_place(())


def test_keys_are_read_from_indentation() -> None:
    text = "a:\n  b:\n    - c: 1\n      d: 2\n  e: 3\n"
    assert ("a", "b", "d") == keys_at(text, text.index("2"))
    assert ("a", "e") == keys_at(text, text.index("3"))


PARTS = st.text(alphabet="abx01 (),.[]{}:#'\"*!&@+-=<>\\\n", max_size=40)


@pytest.mark.slow
@given(value=PARTS, is_flow=st.booleans())
def test_any_value_is_read_or_reported(value: str, is_flow: bool) -> None:
    body = f"{{a: {value}, b: 2}}" if is_flow else f"\n  a: {value}\n  b: 2"
    text = f"z: 1\nverify: {body}\nend: 1\n"
    loaded = load(text.encode(), "f.yaml")
    assert loaded.tree is not None or loaded.findings
    assert all(item.code in ("YM001", "YM003", "YM004", "YM005") for item in loaded.findings)
    lines = text.split("\n")
    assert all(1 <= item.span.line <= len(lines) for item in loaded.findings)
