"""`json(schema)`: a checked JSON value, or a refusal."""

import pytest

from assay.runtime.parser.json import fits, json_value


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"a": 1}', '{"a":1}'),
        ('So:\n```json\n{"a": [1, 2]}\n```', '{"a":[1,2]}'),
        ("```\n3\n```", "3"),
        ('"ü"', '"ü"'),
        ('{"a": 1, "a": 2}', None),
        ("NaN", None),
        ("1e999", None),
        ("[" * 65 + "]" * 65, None),
        ("[" * 100_000, None),
        ("{a: 1}", None),
        ('{"a": "\\ud800"}', None),
        ('{"a": "\\ud83d\\ude00"}', '{"a":"\U0001f600"}'),
        ("", None),
    ],
)
def test_value_is_read_strictly(text: str, answer: str | None) -> None:
    assert answer == json_value(text)


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"name": "x"}, True),
        ({"name": "x", "age": 3.0, "tags": ["a"]}, True),
        ({"age": 3}, False),
        ({"name": ""}, False),
        ({"name": "x", "age": -1}, False),
        ({"name": "x", "age": True}, False),
        ({"name": "x", "age": 1.5}, False),
        ({"name": "x", "tags": ["c"]}, False),
        ({"name": "x", "tags": ["a", "a", "a"]}, False),
        ({"name": "x", "more": 1}, False),
        ([], False),
    ],
)
def test_schema_decides(value: object, expected: bool) -> None:
    assert expected == fits(value, PERSON)


@pytest.mark.parametrize(("const", "value", "expected"), [(1, 1.0, True), (1, True, False), (None, None, True)])
def test_const_compares_as_json(const: object, value: object, expected: bool) -> None:
    assert expected == fits(value, {"const": const})


@pytest.mark.parametrize("schema", [{"pattern": "a"}, {"items": {"oneOf": []}}, {"type": "text"}])
def test_keyword_that_is_not_supported_is_a_fault_of_the_domain(schema: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="json"):
        fits([1], schema)
