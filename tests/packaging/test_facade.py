"""`import assay` is cheap, and its two lists of names are one."""

import ast
import subprocess
import sys
from importlib import import_module

import pytest

import assay

HEAVY = (
    "hydra",
    "megatron",
    "msgspec",
    "numpy",
    "omegaconf",
    "pluggy",
    "reasoning_gym",
    "sympy",
    "torch",
    "yaml",
    "zmq",
)


def loaded_by(program: str) -> set[str]:
    listing = "; import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    ran = subprocess.run([sys.executable, "-c", program + listing], check=True, capture_output=True, text=True)
    return set(ran.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    assert set() == loaded_by("import assay") & set(HEAVY)


@pytest.mark.parametrize("name", sorted(assay._PUBLIC))
def test_every_public_name_is_where_the_table_says(name: str) -> None:
    module, _, attribute = assay._PUBLIC[name].partition(":")
    assert getattr(import_module(module), attribute) is getattr(assay, name)


def test_public_names_load_no_training_library() -> None:
    unwanted = {"docker", "hydra", "megatron", "reasoning_gym", "sympy", "torch", "transformers", "yaml", "zmq"}
    assert set() == loaded_by("import assay; [getattr(assay, name) for name in assay.__all__]") & unwanted


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'assay' has no attribute 'nothing'"):
        _ = assay.nothing  # pyright: ignore[reportAttributeAccessIssue]


def test_type_checkers_see_the_same_names() -> None:
    assert assay.__file__ is not None
    with open(assay.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.name: f"{node.module}:{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == assay._PUBLIC
    assert {*imported, "__version__"} == set(assay.__all__)
