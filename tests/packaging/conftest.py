"""A copy of what a build reads, so that tests may change it."""

import shutil
from pathlib import Path

import pytest

PACKAGES = ("core", "dsl", "runtime", "conf")
CACHES = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache")


@pytest.fixture
def checkout(repository: Path, tmp_path: Path) -> Path:
    """A copy of the checkout's build inputs, links as links."""
    root = tmp_path / "checkout"
    root.mkdir()
    for name in ("pyproject.toml", ".gitignore", "LICENSE"):
        shutil.copy2(repository / name, root / name)
    for package in PACKAGES:
        shutil.copytree(repository / package, root / package, ignore=CACHES)
    shutil.copytree(repository / "src", root / "src", symlinks=True, ignore=CACHES)
    return root
