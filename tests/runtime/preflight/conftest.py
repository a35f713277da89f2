"""Assay's own offers, and a package whose verifier wants a box."""

import importlib.util
import shutil
from pathlib import Path

import pytest

from assay import __version__
from assay.core.registry import Registry
from assay.runtime import builtin


@pytest.fixture(scope="session")
def plugin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to import from that holds the installed package."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(Path(__file__).with_name("boxed.py"), folder / "assay_boxed.py")
    metadata = folder / "assay_boxed-1.0.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-boxed\nVersion: 1.0.0\n")
    return folder


@pytest.fixture(scope="session")
def registry(plugin_folder: Path) -> Registry:
    spec = importlib.util.spec_from_file_location("assay_boxed", plugin_folder / "assay_boxed.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    registry = Registry()
    registry.add(builtin, "assay-rl", __version__)
    registry.add(module, "assay-boxed", "1.0.0")
    assert [] == registry.failures
    return registry
