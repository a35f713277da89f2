"""The four packages have one name each."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("package", ["core", "dsl", "runtime", "conf"])
def test_bare_name_is_refused(package: str, repository: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(repository)!r}); import {package}"
    refused = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True)
    assert f"ImportError: import assay.{package}, not {package}" == refused.stderr.splitlines()[-1]
