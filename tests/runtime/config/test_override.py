"""Overrides as typed: their three ways, their spans, their quotes and commas."""

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from assay.runtime.config.override import quote_for_hydra, read_overrides, split_commas, unquote

TEXT = st.text(alphabet=st.sampled_from("ab\\'\"${},=()[] \n"), max_size=16)


@pytest.mark.parametrize(
    ("text", "sign", "key", "value", "target"),
    [
        ("trainer.lr=1e-3", "", "trainer.lr", "1e-3", "setting"),
        ("engine=embedded", "", "engine", "embedded", "choice"),
        ("curriculum=a/b.yaml", "", "curriculum", "a/b.yaml", "choice"),
        ("curriculum.mix.math.share=0.2", "", "curriculum.mix.math.share", "0.2", "declared"),
        ("domain.math.reward.success=a == 1", "", "domain.math.reward.success", "a == 1", "declared"),
        ("+domain.math.reward.outcome.x=1", "+", "domain.math.reward.outcome.x", "1", "declared"),
        ("++run.name=x", "++", "run.name", "x", "setting"),
        ("~domain.math.reward.process.x", "~", "domain.math.reward.process.x", None, "declared"),
        ("run.name=", "", "run.name", "", "setting"),
        ("domain.math.prompt=a\nb", "", "domain.math.prompt", "a\nb", "declared"),
    ],
)
def test_override_is_read_into_its_parts(text: str, sign: str, key: str, value: str | None, target: str) -> None:
    overrides, findings = read_overrides([text])
    assert [] == findings
    assert [(1, sign, key, value, target)] == [(o.index, o.sign, o.key, o.value, o.target) for o in overrides]


@pytest.mark.parametrize("text", ["quickstart", "=3", "trainer.lr", "a b=3", "engine@x=y", "", "+", "a..b=1"])
def test_text_that_is_no_override_is_reported_with_its_number(text: str) -> None:
    overrides, findings = read_overrides(["run.seed=1", text])
    assert ["run.seed"] == [override.key for override in overrides]
    assert [("CF001", "<override 2>")] == [(found.code, found.span.path) for found in findings]


def test_spans_are_those_of_key_and_value() -> None:
    (override,), _ = read_overrides(["+run.name=x y"])
    assert ("run.name", "x y") == tuple(
        override.text[span.column - 1 : span.end_column - 1] for span in (override.key_span, override.value_span)
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1", ["1"]),
        ("1e-3,3e-4", ["1e-3", "3e-4"]),
        ("min(a,3)", ["min(a,3)"]),
        ("min(a,3),0", ["min(a,3)", "0"]),
        ("{a: [1,2]}, {b: 1}", ["{a: [1,2]}", "{b: 1}"]),
        ("'a,b',c", ["'a,b'", "c"]),
        (r"'a\',b',c", [r"'a\',b'", "c"]),
        ('x == "a,b"', ['x == "a,b"']),
        ("a),b", ["a)", "b"]),
        ("", [""]),
    ],
)
def test_commas_inside_brackets_and_quotes_do_not_split(text: str, parts: list[str]) -> None:
    assert parts == split_commas(text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("'a'", "a"),
        ('"a"', "a"),
        (r"'it\'s'", "it's"),
        ("a == 'x'", "a == 'x'"),
        ("'a' + 'b'", "'a' + 'b'"),
        ("'x' if a else 'y'", "'x' if a else 'y'"),
        ("'", "'"),
        ("''", ""),
    ],
)
def test_quotes_around_a_whole_value_are_not_part_of_it(text: str, plain: str) -> None:
    assert plain == unquote(text)


@pytest.mark.slow
@given(text=TEXT)
def test_hydra_reads_back_what_was_quoted_for_it(text: str) -> None:
    override = OverridesParser.create().parse_override(f"key={quote_for_hydra(text)}")
    assert not override.is_sweep_override()
    assert text == OmegaConf.create({"key": override.value()}).key
