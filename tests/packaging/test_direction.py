"""core <- dsl <- runtime; nothing imports a plugin; heavy libraries wait until they are used."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

OWN = {
    "core": {"assay.core"},
    "dsl": {"assay.core", "assay.dsl"},
    "runtime": {"assay", "assay.core", "assay.dsl", "assay.runtime", "assay.conf"},
}
"""What each folder may import of this project."""

ANYWHERE = {
    "core": {"msgspec", "pluggy"},
    "dsl": {"msgspec", "pluggy", "yaml"},
}
"""What each folder may import beside the standard library; runtime may import anything that is not heavy."""

INSIDE_FUNCTIONS = {"core": {"packaging"}, "dsl": {"numpy"}}
"""What each folder may also import where the import does not run on loading the module."""

HEAVY = {
    "docker": (),
    "hydra": (),
    "megatron": ("trainer",),
    "numpy": ("engine", "policy", "stage", "trainer"),
    "omegaconf": (),
    "torch": ("engine", "policy", "trainer"),
    "transformers": (),
    "zmq": ("coordinator", "launch", "stage", "wire"),
}
"""Folders of runtime whose modules may import a heavy library on loading."""


class Import(NamedTuple):
    """One imported module: absolute name, line, and whether loading the file runs the import."""

    name: str
    line: int
    on_load: bool


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def imports(node: ast.AST, package: str, on_load: bool = True) -> Iterator[Import]:
    """Yield every import below a node of a module in `package`."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, node.lineno, on_load)
    elif isinstance(node, ast.ImportFrom):
        base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            yield Import(f"{module}.{alias.name}", node.lineno, on_load)
    elif isinstance(node, ast.If) and is_type_checking(node.test):
        for child in node.body:
            yield from imports(child, package, on_load=False)
        for child in node.orelse:
            yield from imports(child, package, on_load)
    else:
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from imports(child, package, on_load and not is_function)


def is_within(name: str, packages: set[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def fault(found: Import, path: Path) -> str | None:
    """Say what is wrong with one import in a file whose path is relative to the repository root."""
    folder = path.parts[0]
    top = found.name.partition(".")[0]
    if top == "assay":
        own = OWN[folder]
        # `assay` itself stands for the facade's names, not for all below it.
        if is_within(found.name, own - {"assay"}):
            return None
        is_facade = "assay" in own and not is_within(found.name, {"assay.core", "assay.dsl", "assay.runtime"})
        return None if is_facade else f"{folder} must not import {found.name}"
    if top in {"core", "dsl", "runtime", "conf", "plugins"} or top.startswith("assay_"):
        return f"{folder} must not import {top}"
    if top in sys.stdlib_module_names:
        return None
    if folder in ANYWHERE:
        allowed = ANYWHERE[folder] | (set() if found.on_load else INSIDE_FUNCTIONS[folder])
        return None if top in allowed else f"{folder} must not import {top}{' on loading' * found.on_load}"
    if found.on_load and top in HEAVY and path.parts[1] not in HEAVY[top]:
        return f"{path.parts[0]}/{path.parts[1]} must import {top} inside a function"
    return None


def faults(text: str, path: Path) -> list[str]:
    package = ".".join(["assay", *path.parts[:-1]])
    found = imports(ast.parse(text), package)
    return [f"{path}:{one.line}: {what}" for one in found if (what := fault(one, path)) is not None]


@pytest.mark.parametrize("folder", ["core", "dsl", "runtime"])
def test_imports_point_one_way(folder: str, repository: Path) -> None:
    paths = sorted((repository / folder).rglob("*.py"))
    assert repository / folder / "__init__.py" in paths
    relative = [path.relative_to(repository) for path in paths]
    assert [] == [line for path in relative for line in faults((repository / path).read_text("utf-8"), path)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("core/task.py", "import assay.dsl.expr"),
        ("core/task.py", "from assay.runtime import wire"),
        ("core/task.py", "from assay import dsl"),
        ("core/task.py", "from ..dsl import plan"),
        ("core/task.py", "import yaml"),
        ("core/task.py", "def load():\n    import numpy"),
        ("core/task.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from assay.dsl import plan"),
        ("core/task.py", "import core.error"),
        ("dsl/plan.py", "import assay.runtime"),
        ("dsl/plan.py", "import numpy"),
        ("dsl/plan.py", "class Column:\n    import numpy"),
        ("dsl/plan.py", "try:\n    import numpy\nexcept ImportError:\n    pass"),
        ("dsl/plan.py", "def check():\n    import torch"),
        ("runtime/wire/frame.py", "import assay_domain_reasoning_gym"),
        ("runtime/wire/frame.py", "def load():\n    from plugins import anything"),
        ("runtime/wire/frame.py", "import torch"),
        ("runtime/engine/embedded.py", "import megatron.core"),
        ("runtime/cli/check.py", "from hydra import compose"),
        ("runtime/store.py", "import zmq"),
    ],
)
def test_upward_or_heavy_import_is_reported(path: str, text: str) -> None:
    assert 1 == len(faults(text, Path(path)))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("core/task.py", "import msgspec, pluggy, dataclasses"),
        ("core/task.py", "from assay.core.error import AssayError"),
        ("core/task.py", "from .error import AssayError"),
        ("core/wire/frame.py", "from ..error import AssayError"),
        ("dsl/source/loader.py", "import yaml"),
        ("dsl/expr/column.py", "def evaluate():\n    import numpy as np"),
        ("dsl/expr/column.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy as np"),
        ("runtime/cli/check.py", "from assay import Signals, __version__"),
        ("runtime/cli/check.py", "from assay.conf import anything"),
        ("runtime/cli/check.py", "def main():\n    import hydra"),
        ("runtime/trainer/megatron/step.py", "import megatron.core, torch"),
        ("runtime/wire/socket.py", "import zmq"),
    ],
)
def test_downward_or_lazy_import_is_not_reported(path: str, text: str) -> None:
    assert [] == faults(text, Path(path))
