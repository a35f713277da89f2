"""The subset: what is an expression, what is RX002, and where the finding stands."""

import time

import pytest

from assay.dsl.expr.node import Binary, Num, Ref, Signal, strip
from assay.dsl.expr.parse import MAX_DEPTH, parse_call, parse_expression
from assay.dsl.expr.show import show


@pytest.mark.parametrize(
    "text",
    [
        "1.0*tests.f2p_rate - 0.1",
        "a if b else c",
        "(a + b)*(c - -d)/2.0",
        "not a and (b or c)",
        "0 < x <= 10",
        "min(a, b, 3)",
        'mode == "a"',
        "clip(x, lo=0, hi=1)",
        "-(-x)",
        "a - (b - c)",
        "a/(b/c)",
        "(a if b else c) if d else e",
        "a if b else c if d else e",
        "(a < b) == c",
        "not (a and b)",
        "1e-09",
    ],
)
def test_printed_text_reads_back_as_the_same_expression(text: str) -> None:
    node, faults = parse_expression(text)
    assert faults == ()
    assert node is not None
    again, _ = parse_expression(show(node))
    assert again is not None
    assert strip(node) == strip(again)


@pytest.mark.parametrize(
    ("text", "start", "end", "what"),
    [
        ("2**3", 0, 4, "power"),
        ("9**9**9", 0, 7, "power"),
        ("max([x for x in (1, 2)])*a.b", 4, 23, "comprehension"),
        ("xs[0]", 0, 5, "indexing"),
        ("1 + (lambda: 1)", 5, 14, "lambda"),
        ("f'{x}'", 0, 6, "formatting"),
        ("a.b.c", 0, 5, "one or two parts"),
        ("a._b", 0, 4, "underscore"),
        ("_a", 0, 2, "underscore"),
        ("a if b", 0, 6, "not an expression"),
        ("a and", 4, 5, "not an expression"),
        ("(a", 0, 1, "not an expression"),
        ("x = 1", 2, 3, "not an expression"),
        ("a in b", 0, 6, "membership"),
        ("a // b", 0, 6, "floor division"),
        ("a % b", 0, 5, "remainder"),
        ("None", 0, 4, "None"),
        ("b'x'", 0, 4, "bytes"),
        ("1j", 0, 2, "complex"),
        ("[1, 2]", 0, 6, "argument"),
        ("(1, 2)", 0, 6, "tuple"),
        ("f(*xs)", 2, 5, "unpacking"),
        ("a()(b)", 0, 6, "registered name"),
        ("__import__('os')", 0, 16, "registered name"),
        ("(x := 1)", 1, 7, "assignment"),
        ("yield", 0, 5, "not an expression"),
        ("~a", 0, 2, "bit operation"),
        ("a.b + (c[0] + d[1])", 7, 11, "indexing"),
    ],
)
def test_what_lies_outside_the_subset_is_refused_where_it_stands(text: str, start: int, end: int, what: str) -> None:
    node, faults = parse_expression(text)
    assert node is None
    assert what in faults[0].message
    assert (start, end) == (faults[0].start, faults[0].end)


def test_of_nested_constructs_the_outermost_is_reported() -> None:
    _, faults = parse_expression("[y[0] for y in xs]*2")
    assert [(fault.start, fault.end) for fault in faults] == [(0, 18)]


def test_separate_constructs_are_all_reported() -> None:
    _, faults = parse_expression("xs[0] + ys[1]")
    assert [(fault.start, fault.end) for fault in faults] == [(0, 5), (8, 13)]


def test_places_are_code_points_not_bytes() -> None:
    node, _ = parse_expression('mode == "héé🎉" and a.b')
    assert node is not None
    items = getattr(node, "items")  # noqa: B009
    assert (19, 22) == (items[1].start, items[1].end)


def test_leading_and_folded_space_keeps_places() -> None:
    node, _ = parse_expression("  a\n  + b.c")
    assert isinstance(node, Binary)
    assert isinstance(node.right, Signal)
    assert (2, 3) == (node.left.start, node.left.end)
    assert (8, 11) == (node.right.start, node.right.end)


def test_whole_and_broken_numbers_keep_their_value() -> None:
    assert Num(text="40") == strip(parse_expression("40")[0] or Ref(name=""))
    assert Num(text="1000.0") == strip(parse_expression("1e3")[0] or Ref(name=""))
    assert Num(text="1e999") == strip(parse_expression("1e999")[0] or Ref(name=""))
    assert Num(text="1e999") == strip(parse_expression("9" * 400)[0] or Ref(name=""))


@pytest.mark.parametrize(
    "text",
    [
        "-" * 5000 + "1",
        "(" * 500 + "1" + ")" * 500,
        "+".join(["a"] * 4000),
        "f(" * 400 + ")" * 400,
        "not " * 2000 + "a",
        "9" * 9999,
        "a.b" * 5000,
        "a" + ".b" * 3000,
        "\0",
        "a\r+b",
    ],
)
def test_hostile_texts_are_refused_in_bounded_time(text: str) -> None:
    begin = time.process_time()
    node, faults = parse_expression(text)
    assert node is None or len(show(node)) < 10
    assert faults or node is not None
    assert time.process_time() - begin < 2.0


def test_depth_has_a_limit_that_ordinary_sums_do_not_meet() -> None:
    assert parse_expression("+".join(["a"] * (MAX_DEPTH - 10)))[0] is not None


def test_a_call_is_a_dotted_name_with_arguments() -> None:
    call, faults = parse_call('tests.pytest(f2p, p2p, flags=["-q", "-x"])')
    assert faults == ()
    assert call is not None
    assert "tests.pytest" == call.function
    assert ["flags"] == [keyword.name for keyword in call.keywords]


@pytest.mark.parametrize("text", ["tests.pytest", "1 + 2", "", "f(x)(y)", "f([g(x)])", "f(**x)"])
def test_anything_else_is_no_call(text: str) -> None:
    call, faults = parse_call(text)
    assert call is None
    assert len(faults) == 1
