"""`assay.testing` is cheap to import, needs no pytest, and its lists of names are one."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from assay import testing

FILE = Path(testing.__file__ or "")


def test_import_and_all_names_load_no_pytest_and_no_training_library() -> None:
    program = (
        "import sys, assay.testing as testing\n"
        "[getattr(testing, name) for name in testing.__all__]\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    unwanted = {"_pytest", "docker", "hydra", "megatron", "pytest", "reasoning_gym", "sympy", "torch", "transformers"}
    assert set() == set(ran.stdout.split()) & unwanted


@pytest.mark.parametrize("name", sorted(testing._PUBLIC))
def test_every_name_is_where_the_table_says(name: str) -> None:
    module, _, attribute = testing._PUBLIC[name].partition(":")
    assert getattr(import_module(module), attribute) is getattr(testing, name)


def test_type_checkers_see_the_same_names() -> None:
    block = next(node for node in ast.parse(FILE.read_text()).body if isinstance(node, ast.If))
    imported = {
        alias.name: f"{node.module}:{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == testing._PUBLIC
    assert set(imported) == set(testing.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'assay\.testing' has no attribute 'Nothing'"):
        _ = testing.Nothing  # pyright: ignore[reportAttributeAccessIssue]
