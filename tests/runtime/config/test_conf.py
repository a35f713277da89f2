"""The files in `conf/`: every key described, every group chosen, every key read."""

import re
from pathlib import Path

import msgspec
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from assay.core.registry import Registry
from assay.dsl.source.loader import load
from assay.runtime.config.option import OPTIONAL, parameters
from assay.runtime.config.override import GROUPS
from assay.runtime.config.selection import lines
from assay.runtime.config.setting import Settings
from assay.runtime.policy.initialization import PolicySpec

CONF = Path(__file__).resolve().parents[3] / "conf"
FILES = sorted(path for path in CONF.glob("*/*.yaml") if path.parent.name != "curriculum")
KEY = re.compile(r"^[a-z_0-9]+:.*?(?:\s#\s(?P<description>\S.*))?$")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_key_is_described_beside_it(path: Path) -> None:
    keys = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert [] == [line for line in keys if (match := KEY.match(line)) is None or match["description"] is None]


def test_every_group_has_a_folder_a_default_and_a_file() -> None:
    tree = load((CONF / "config.yaml").read_bytes(), "config.yaml").tree
    assert tree is not None
    defaults = [place.split(".")[-1] for place in lines(tree) if place.count(".") == 2]
    assert list(GROUPS) == defaults
    assert set(GROUPS) == {path.parent.name for path in CONF.glob("*/*.yaml")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_key_is_a_setting_or_an_argument_of_the_named_thing(path: Path, registry: Registry) -> None:
    group = path.parent.name
    tree = load(path.read_bytes(), str(path)).tree
    assert tree is not None
    fields = {field.name: field.type for field in msgspec.structs.fields(Settings)}
    read = {field.name for field in msgspec.structs.fields(fields[group])} - {"options"}
    name = tree.get("name")
    if name is not None and group != "run":
        text = getattr(name, "text", "")
        found = () if group in OPTIONAL and text == "none" else parameters(registry.find(group, text).value)
        assert found is not None
        read |= set(found)
    assert [] == [key for key in tree.keys() if key not in read]  # noqa: SIM118


def test_every_setting_is_read_by_the_runtime() -> None:
    root = CONF.parent / "runtime"
    text = "\n".join(path.read_text() for path in root.rglob("*.py") if path.parent != root / "config")
    unread = [
        f"{group.name}.{field.name}"
        for group in msgspec.structs.fields(Settings)
        for field in msgspec.structs.fields(group.type)
        # `name` and options are looked up for all groups alike; the shape of a new policy is read as a struct, and so
        # are the levels of the audit.
        if group.name != "audit"
        and field.name not in ("name", "options", *(PolicySpec.__struct_fields__ if group.name == "policy" else ()))
        and not re.search(rf"\[\"{field.name}\"\]|\b{group.name}\.{field.name}\b", text)
    ]
    assert [] == unread


def test_group_names_are_keys_that_hydra_reads() -> None:
    assert list(GROUPS) == [
        override.key_or_group for override in OverridesParser.create().parse_overrides([f"{name}=x" for name in GROUPS])
    ]
