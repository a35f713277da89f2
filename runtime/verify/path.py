"""Where a worker finds the packages that its host found outside the installed ones."""

import importlib.metadata
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path


def plugin_paths(refs: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of `refs` that a new interpreter would not search: those of PYTHONPATH and the like.

    A worker starts without its user's environment, so what PYTHONPATH named must be told. Those folders stand before
    the standard library on `sys.path`; installed packages stand behind it and are found by themselves.

    Args:
        refs: `dist:version:module:attribute`.
    """
    library = sysconfig.get_path("stdlib")
    end = sys.path.index(library) if library in sys.path else len(sys.path)
    before = {os.path.realpath(path): path for path in sys.path[:end] if path}
    found: dict[str, None] = {}
    for dist in {ref.partition(":")[0]: None for ref in refs}:
        try:
            folder = os.path.realpath(Path(str(importlib.metadata.distribution(dist).locate_file(""))))
        except importlib.metadata.PackageNotFoundError:
            continue  # the worker will say so itself, naming the reference
        if folder in before:
            found[before[folder]] = None
    return tuple(found)
