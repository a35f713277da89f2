"""The page of a run with a long mix stays readable."""

from types import SimpleNamespace
from typing import Any

from assay.runtime.observe.curve import COLOURS
from assay.runtime.observe.report import _few


def mix(num: int) -> Any:
    return SimpleNamespace(entries=[SimpleNamespace(name=f"e{n}", share=float(n)) for n in range(num)])


def test_figure_of_a_long_mix_shows_the_largest_entries_and_the_mean() -> None:
    lines = {f"e{n}": [(1.0, float(n)), (2.0, 2.0 * n)] for n in range(100)}
    shown = _few(mix(100), lines)
    assert ["mean of 100 entries", *(f"e{n}" for n in range(93, 100))] == list(shown)
    assert [(1.0, 49.5), (2.0, 99.0)] == shown["mean of 100 entries"]


def test_figure_of_a_short_mix_shows_every_entry() -> None:
    lines = {f"e{n}": [(1.0, 1.0)] for n in range(len(COLOURS))}
    assert lines == _few(mix(len(COLOURS)), lines)
