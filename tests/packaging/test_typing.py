"""Type checkers resolve the public names in somebody else's file, and report a wrong type."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import assay

RIGHT = "import assay\n\n" + "".join(f"print(assay.{name})\n" for name in assay.__all__)
WRONG = "import assay\n\nversion: int = assay.__version__\nsignals: int = assay.Signals\nassay.nothing\n"


def mypy_lines(file: Path) -> set[int]:
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--output", "json", f"--cache-dir={file.parent}/cache", file.name],
        cwd=file.parent,
        capture_output=True,
        text=True,
    )
    assert "" == ran.stderr
    return {json.loads(line)["line"] for line in ran.stdout.splitlines() if line.strip()}


def pyright_lines(file: Path) -> set[int]:
    ran = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, file.name],
        cwd=file.parent,
        capture_output=True,
        text=True,
    )
    report = json.loads(ran.stdout)
    assert 1 == report["summary"]["filesAnalyzed"]
    return {finding["range"]["start"]["line"] + 1 for finding in report["generalDiagnostics"]}


@pytest.mark.slow
@pytest.mark.parametrize("error_lines", [mypy_lines, pyright_lines])
@pytest.mark.parametrize(("text", "expected"), [(RIGHT, set()), (WRONG, {3, 4, 5})], ids=["right", "wrong"])
def test_strangers_file_is_checked(error_lines, text: str, expected: set[int], tmp_path: Path) -> None:
    file = tmp_path / "stranger.py"
    file.write_text(text)
    assert expected == error_lines(file)
