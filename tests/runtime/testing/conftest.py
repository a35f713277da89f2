"""A package of wrong plugins, found the way any package is, and a clause of a contract run on one of them."""

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from assay.core.registry import Registry
from assay.runtime import builtin
from assay.testing import Contract, ContractBroken

Break = Callable[[type[Contract], str], str]
HERE = Path(__file__).parent
HEAVY = """
import numpy
import assay

sum(range(2_000_000))

@assay.parser("heavy", version=1)
def heavy(text: str) -> str | None:
    \"\"\"Nothing.\"\"\"
    return text

@assay.hookimpl
def assay_parsers():
    return [heavy]
"""


def install(folder: Path, name: str) -> None:
    """Put the metadata of a package into a folder."""
    dist = name.replace("_", "-")
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[assay]\n{dist} = {name}\n")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder ahead of all others on the path, with the packages of wrong plugins."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(HERE / "wrong", folder / "assay_wrong")
    (folder / "assay_heavy.py").write_text(HEAVY)
    install(folder, "assay_wrong")
    install(folder, "assay_heavy")
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="session")
def wrong(site: Path) -> ModuleType:
    """The package of wrong plugins, with a module per kind."""
    for kind in ("verifier", "parser", "source", "function", "tool"):
        importlib.import_module(f"assay_wrong.{kind}")
    return importlib.import_module("assay_wrong")


@pytest.fixture(scope="session")
def registry(wrong: ModuleType) -> Registry:
    """Assay's own plugins and the wrong ones."""
    registry = Registry()
    registry.add(builtin, "assay-rl", "0.1.0")
    registry.add(wrong, "assay-wrong", "1.0")
    assert [] == registry.failures
    return registry


@pytest.fixture
def breaks() -> Break:
    """Run a clause that must break; returns the message."""

    def run(contract: type[Contract], clause: str) -> str:
        try:
            with pytest.raises(ContractBroken) as caught:
                getattr(contract(), clause)()
        finally:
            contract.teardown_class()
        return str(caught.value)

    return run


@pytest.fixture
def holds() -> Callable[[type[Contract]], list[str]]:
    """Run all clauses of a contract; returns their names."""

    def run(contract: type[Contract]) -> list[str]:
        try:
            names = [name for name in dir(contract) if name.startswith("test_") and getattr(contract, name) is not None]
            for name in names:
                getattr(contract(), name)()
        finally:
            contract.teardown_class()
        return names

    return run
