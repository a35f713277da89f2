"""Which domains of two sides belong together."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from world import DOMAIN, make_registry

from assay.core.error import ConfigError
from assay.dsl.compile import compile_bytes
from assay.dsl.program import Program
from assay.runtime.regrade.side import Pair, Side, pairs, read_side


@pytest.fixture(scope="module")
def program() -> Program:
    return compile_bytes(DOMAIN.encode(), make_registry(), "edit.yaml", Path(".")).require()


def other(program: Program, name: str) -> Program:
    return replace(program, id=name)


def names(found: list[Pair]) -> list[tuple[str, str]]:
    return [(pair.before_name, pair.after_name) for pair in found]


def test_entries_of_two_mixes_meet_by_name(program: Program) -> None:
    a = Side("a", {"x": program, "y": other(program, "y.y")}, True)
    b = Side("b", {"y": other(program, "y.y"), "z": program}, True)
    found, gone, new = pairs(a, b)
    assert ([("y", "y")], ["x"], ["z"]) == (names(found), gone, new)


def test_domain_meets_every_entry_of_its_id(program: Program) -> None:
    mix = Side("a", {"x": program, "y": program, "z": other(program, "z.z")}, True)
    found, gone, new = pairs(mix, Side("b", {"edit.me": program}))
    assert ([("x", "edit.me"), ("y", "edit.me")], ["z"], []) == (names(found), gone, new)
    assert ["x", "y"] == [pair.name for pair in found]


def test_two_single_domains_meet_whatever_they_are_called(program: Program) -> None:
    found, gone, new = pairs(Side("a", {"x": program}, True), Side("b", {"y": other(program, "y.y")}, True))
    assert ([("x", "y")], [], []) == (names(found), gone, new)


def test_side_that_names_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a side must name something, got nobody"):
        read_side("nobody", tmp_path, make_registry())
