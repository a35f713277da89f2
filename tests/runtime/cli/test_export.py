"""Formats of `assay export` and their options."""

from importlib.metadata import version
from types import SimpleNamespace

import pytest

import assay
from assay.core.error import AssayError
from assay.core.leaf import Factory
from assay.core.registry import Registry
from assay.runtime import builtin
from assay.runtime.cli.export import make_exporter
from assay.runtime.policy.export import HuggingFaceExporter


@pytest.fixture
def registry() -> Registry:
    found = Registry()
    found.add(builtin, "assay-rl", version("assay-rl"))
    offer = assay.hookimpl(lambda: [Factory("plain", "builtins:dict", "Anything.")])
    found.add(SimpleNamespace(assay_exporters=offer), "assay-rl", version("assay-rl"))
    return found


def test_options_are_json_or_text(registry: Registry) -> None:
    expected = {"size": 3, "whole": True, "name": "a b", "parts": [1, 2]}
    words = ["size=3", "whole=true", "name=a b", "parts=[1, 2]"]
    assert expected == make_exporter("plain", words, registry)  # type: ignore[comparison-overlap]


def test_builtin_format_is_found(registry: Registry) -> None:
    assert isinstance(make_exporter("huggingface", ["dtype=float16"], registry), HuggingFaceExporter)


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("hugface", [], "unknown exporter `hugface`. did you mean `huggingface`?"),
        ("huggingface", ["dtyp=float16"], "one that `huggingface` takes, got dtyp=float16. did you mean `dtype`?"),
        ("huggingface", ["dtype"], "an option must be KEY=VALUE"),
        ("huggingface", ["dtype=int8"], "dtype must be one of float32, bfloat16, float16, got int8"),
    ],
)
def test_what_cannot_be_meant_is_said(registry: Registry, name: str, words: list[str], message: str) -> None:
    with pytest.raises(AssayError) as caught:
        make_exporter(name, words, registry)
    assert message in str(caught.value)
