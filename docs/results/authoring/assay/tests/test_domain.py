"""The domain compiles without a warning; its rows, examples and controls hold."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("words", [("check", "--strict", "sums"), ("test", "--controls", "sums")])
def test_sums(words: tuple[str, ...]) -> None:
    ended = subprocess.run([sys.executable, "-m", "assay", *words], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
