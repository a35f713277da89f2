"""Curves: whole, readable and without anything outside themselves."""

import math
import xml.etree.ElementTree as ElementTree

from hypothesis import given
from hypothesis import strategies as st

from assay.runtime.observe.curve import curve, smooth

POINTS = st.lists(st.tuples(st.floats(0, 1e6), st.floats(-1e6, 1e6)), min_size=0, max_size=40)


@given(st.dictionaries(st.text("ab<&\"'", max_size=8), POINTS, max_size=4))
def test_every_figure_is_well_formed_and_inside_its_frame(lines: dict[str, list[tuple[float, float]]]) -> None:
    text = curve('a "title" & more', lines)
    svg = ElementTree.fromstring(text.partition("</svg>")[0] + "</svg>")
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    for polyline in svg.iter("{http://www.w3.org/2000/svg}polyline"):
        for point in polyline.attrib["points"].split():
            x, y = map(float, point.split(","))
            assert -1 <= x <= width + 1
            assert -1 <= y <= height + 1


def test_value_that_is_not_finite_is_left_out() -> None:
    text = curve("t", {"a": [(0, 1.0), (1, math.nan), (2, 3.0)]})
    assert "nan" not in text


def test_names_are_escaped() -> None:
    assert "<script>" not in curve("<script>", {"<script>": [(0, 1.0)], "b": [(0, 2.0)]})


def test_smoothing_keeps_a_constant_and_the_number_of_points() -> None:
    assert [(0, 2.0), (1, 2.0), (2, 2.0)] == smooth([(0, 2.0), (1, 2.0), (2, 2.0)], 5)
