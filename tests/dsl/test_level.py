"""Levels are typed by the source that they are of, and by its own ladder where it states one."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.dsl.conftest import domain

import assay
from assay.core.registry import Registry
from assay.dsl.curriculum import CompiledCurriculum, compile_curriculum
from assay.dsl.source.loader import load


def ladder(kind: str) -> Mapping[str, Sequence[Any]]:
    if kind == "broken":
        raise ValueError("no such kind")
    return {"digits": (2, 4, 8), "noise": (0.5, 0.1), "style": ("plain", "prose"), "parts": (["a"], ["a", "b"])}


@assay.source("test.tasks", version=1, levels=ladder)
def tasks(kind: str, size: int = 10, fast: bool = False, **options: Any) -> object:
    return None


@assay.source("test.named", version=1)
def named(size: int = 10) -> object:
    return None


@assay.source("test.open", version=1)
def free(**options: Any) -> object:
    return None


class Sources:
    @assay.hookimpl
    def assay_sources(self) -> list[object]:
        return [tasks, named, free]


@pytest.fixture
def read(registry: Registry, tmp_path: Path) -> Any:
    """Compile a curriculum of one entry with levels; the source's call may be another."""
    own = Registry()
    own.add(sys.modules["dsl_test_plugin"], "assay-test", "1.0.0")
    own.add(Sources(), "assay-levels", "1.0.0")

    def run(levels: str, call: str = 'test.tasks("sum")') -> CompiledCurriculum:
        text = domain("outcome:\n  solved: 1.0*m.good")
        head, _, rest = text.partition("data:\n")
        _, _, tail = rest.partition("prompt:")
        data = f"  train: {call}\n" if call else rest.partition("prompt:")[0]
        (tmp_path / "a.yaml").write_text(f"{head}data:\n{data}prompt:{tail}")
        tree = load(
            f"assay: 1\ncurriculum: c\nmix: {{a: {{domain: a.yaml}}}}\nlevels:\n  a:\n    {levels}\n".encode(), "c"
        )
        assert tree.tree is not None
        return compile_curriculum(tree.tree, own, tmp_path, findings=tree.findings)

    return run


@pytest.mark.parametrize(
    ("levels", "values"),
    [
        ("digits: [2, 3, 9]", {"digits": [2, 3, 9]}),
        ("digits: auto", {"digits": [2, 4, 8]}),
        ("noise: [0.7, 0.5, 0]", {"noise": [0.7, 0.5, 0]}),
        ("style: [plain, prose]", {"style": ["plain", "prose"]}),
        ("parts: [[b]]", {"parts": [["b"]]}),
        ("size: [9, 3]", {"size": [9, 3]}),
        ("fast: [false, true]", {"fast": [False, True]}),
    ],
)
def test_values_of_the_right_kind_are_taken(levels: str, values: dict[str, Any], read: Any) -> None:
    found = read(levels)

    assert () == found.findings
    assert {"a": values} == found.curriculum.levels


@pytest.mark.parametrize(
    ("levels", "underlined", "hint"),
    [
        ("digts: [2]", "digts", "did you mean `digits`?"),
        ("digits: [2, x]", "x", "its source has [2, 4, 8]"),
        ("digits: [2, 2.5]", "2.5", "its source has [2, 4, 8]"),
        ("digits: [2, true]", "true", "its source has [2, 4, 8]"),
        ("digits: [4, 2]", "2", "its source has [2, 4, 8]"),
        ("digits: [[2, 4]]", "2", "its source has [2, 4, 8]"),
        ("digits: 4", "4", "such as [2, 4, 8], or `auto`"),
        ("digits: 'auto'", "'auto'", "such as [2, 4, 8], or `auto`"),
        ("noise: [0.1, 0.5]", "0.5", "its source has [0.5, 0.1]"),
        ("style: [plain, verse]", "verse", "its source has [plain, prose]"),
        ("size: auto", "auto", "write `size: [easy, hard]`"),
        ("size: []", "[]", "write `size: [easy, hard]`"),
        ("size: ['9']", "'9'", ""),
    ],
)
def test_value_that_the_source_cannot_take_is_one_finding(levels: str, underlined: str, hint: str, read: Any) -> None:
    (found,) = read(levels).findings

    assert ("CU001", hint) == (found.code, found.hint)
    assert underlined == found.span.source[found.span.column - 1 : found.span.end_column - 1]


def test_all_faults_of_all_attributes_are_reported_at_once(read: Any) -> None:
    found = read("digits: [8, 4, x]\n    nose: [1]\n    size: auto").findings

    assert [6, 6, 7, 8] == [one.span.line for one in found]


def test_source_that_states_no_ladder_is_asked_for_its_parameters_alone(read: Any) -> None:
    assert () == read("anything: [1, x]", "test.open()").findings
    assert ["CU001"] == [one.code for one in read("anything: [1]", "test.named()").findings]


def test_rows_written_out_have_no_levels(read: Any) -> None:
    assert ["levels must be of a source, got rows written out"] == [one.message for one in read("n: [1]", "").findings]


def test_ladder_that_raises_names_its_distribution(read: Any) -> None:
    (found,) = read("digits: [2]", 'test.tasks("broken")').findings

    assert "source `test.tasks` of assay-levels must say its levels, got ValueError: no such kind" == found.message
