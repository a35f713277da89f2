"""Kinds: written, printed, fitted."""

from pathlib import Path
from typing import Any, Literal

import pytest

from assay.core.kind import Kind, accepts, annotation_to_kind, misfit, parse_kind
from assay.core.quantity import format_duration, parse_count, parse_duration, parse_size


@pytest.mark.parametrize(
    "text",
    ["bool", "int", "float", "str", "path", "json", "image", "list[str]", "list[list[int]]", "str | None",
     "int[0, 5]", "float[-1.5, 2]", "int[0, inf)", "float(-inf, 0]", "list[float[0, 1]]"],
)  # fmt: skip
def test_a_kind_prints_as_it_is_written(text: str) -> None:
    assert text == str(parse_kind(text))


def test_spaces_and_commas_are_free() -> None:
    assert parse_kind("float[0,2]") == parse_kind(" float[0,  2 ] ")


@pytest.mark.parametrize(
    "text",
    ["", "string", "int[5,1]", "int[0.5,1]", "float[nan,1]", "float[0,inf]", "list[]", "list[x]", "int[0)", "int(0,1]",
     "float[inf, 0)", "list[" * 20 + "int" + "]" * 20, "None", "str |", "dict[str, int]"],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        parse_kind(text)


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, "str"),
        (list[int], "list[int]"),
        (str | None, "str | None"),
        (Path, "path"),
        (Literal["a", "b"], "'a' | 'b'"),
        (Any, "any"),
        (dict[str, int], "json"),
    ],
)
def test_annotations_have_kinds(annotation: Any, expected: str) -> None:
    assert expected == str(annotation_to_kind(annotation))


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        ("bool", True, True),
        ("bool", 1, False),
        ("int", True, False),
        ("int", 3, True),
        ("int", 3.0, False),
        ("float", 3, True),
        ("float", float("nan"), False),
        ("float", float("inf"), False),
        ("int[0,5]", 6, False),
        ("str", 7, False),
        ("list[int]", [1, 2], True),
        ("list[int]", [1, "2"], False),
        ("list[int]", "12", False),
        ("str | None", None, True),
        ("str | None", 3, False),
        ("json", {"a": [1]}, True),
        ("int", 2**60, False),
    ],
)
def test_values_fit_or_not(kind: str, value: Any, fits: bool) -> None:
    assert fits == (misfit(parse_kind(kind), value) is None)


@pytest.mark.parametrize(
    ("parameter", "given", "fits"),
    [
        ("float", "int", True),
        ("int", "float", False),
        ("str", "path", True),
        ("list[str]", "list[str]", True),
        ("list[str]", "list[int]", False),
        ("str | None", "str", True),
        ("str", "str | None", False),
        ("bool", "int", False),
    ],
)
def test_parameters_accept_what_they_can_use(parameter: str, given: str, fits: bool) -> None:
    assert fits == accepts(parse_kind(parameter), parse_kind(given))


def test_anything_goes_where_anything_is_taken() -> None:
    assert accepts(Kind("any"), Kind("json"))


@pytest.mark.parametrize(
    ("text", "expected"), [("8s", 8.0), ("500ms", 0.5), ("20min", 1200.0), ("1.5h", 5400.0), (" 2 s ", 2.0)]
)
def test_durations_are_seconds(text: str, expected: float) -> None:
    assert expected == parse_duration(text)


def test_sizes_and_counts() -> None:
    assert 4 * 2**30 == parse_size("4GiB")
    assert 64_000 == parse_count("64k")
    assert 2_500_000 == parse_count("2.5M")
    assert ["2min", "1.5s", "20ms", "2h"] == [format_duration(value) for value in (120, 1.5, 0.02, 7200)]


@pytest.mark.parametrize("text", ["8", "8 sec", "-1s", "1e3s", "", "s"])
def test_a_duration_without_a_known_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["4GB", "0.3B", "1.5", "4 gib"])
def test_a_size_without_a_known_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        parse_size(text)


def test_half_a_token_is_refused() -> None:
    with pytest.raises(ValueError, match="whole"):
        parse_count("1.5")
