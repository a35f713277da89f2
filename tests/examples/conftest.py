"""An environment that has every example package installed, and sees the packages of this one."""

import os
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/pyproject.toml"))


class Environment:
    """A new environment; a package of it hides one of the outer one.

    Args:
        folder: To be made.
    """

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        self.python = folder / "bin" / "python"
        site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        here = next(Path(path) for path in sys.path if path.endswith("site-packages"))
        (site / "outer.pth").write_text(f"import site; site.addsitedir({str(here)!r})\n")

    def pip(self, *words: str) -> None:
        """Run this environment's pip, or rather the outer one's on its behalf."""
        argv = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check", *words]
        ran = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert 0 == ran.returncode, ran.stdout + ran.stderr

    def install(self, folders: Sequence[Path]) -> None:
        """Install packages without a network; pip alone builds them."""
        self.pip("install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", *map(str, folders))

    def run(self, *words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a module of this environment's Python."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
        return subprocess.run(
            [str(self.python), "-m", *words],
            cwd=cwd,
            env={**kept, **variables},
            capture_output=True,
            text=True,
            check=False,
        )


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment with all examples."""
    made = Environment(tmp_path_factory.mktemp("environment"))
    made.install(EXAMPLES)
    return made


@pytest.fixture
def run(environment: Environment, tmp_path: Path) -> Run:
    """Run a module there, in an empty folder."""

    def call(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return environment.run(*words, cwd=tmp_path, **variables)

    return call
