"""The base of contracts of factories: how one is made, in this process and in another one."""

import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from assay.core.leaf import Factory
from assay.runtime.testing.contract import Contract


class Scratch:
    """A folder that lasts as long as a contract does.

    Attributes:
        path: The folder.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="assay-testing-"))
        self._count = 0

    def new(self) -> Path:
        """Return a folder in it that nobody used."""
        self._count += 1
        path = self.path / str(self._count)
        path.mkdir()
        return path

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.path, ignore_errors=True)


class FactoryContract(Contract):
    """What holds of a factory.

    Attributes:
        options: Keyword arguments, as a run's configuration would give them.
    """

    options: ClassVar[Mapping[str, Any]] = {}

    def make(self, *arguments: Any, **further: Any) -> Any:
        """Return what the factory makes, with the contract's options."""
        factory: Factory = self.plugin
        target = pkgutil.resolve_name(factory.target) if isinstance(factory.target, str) else factory.target
        return target(*arguments, **{**self.options, **further})

    def _is_same(self, value: Any) -> bool:
        return bool(value == self.plugin)

    def new_folder(self) -> Path:
        """Return an empty folder, removed after the last clause."""
        return self.resource("scratch", Scratch).new()


def run_code(code: str, *words: str, limit_s: float = 60.0) -> subprocess.CompletedProcess[bytes]:
    """Run a few lines in a fresh interpreter that finds what this one does."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    argv = [sys.executable, "-c", code, *words]
    return subprocess.run(argv, env=environment, capture_output=True, timeout=limit_s, check=False)
