"""One environment that has every example package installed, and sees this one's packages."""

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/pyproject.toml"))
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with all examples, installed without a network and built by pip alone."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    here = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    (site / "outer.pth").write_text(f"import site; site.addsitedir({str(here)!r})\n")
    argv = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install", "--quiet"]
    argv += ["--no-index", "--no-deps", "--no-build-isolation", *map(str, EXAMPLES)]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return python


@pytest.fixture
def run(environment: Path, tmp_path: Path) -> Run:
    """Run a module of that environment's Python in an empty folder."""

    def call(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
        return subprocess.run(
            [str(environment), "-m", *words],
            cwd=tmp_path,
            env={**kept, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    return call
