"""The tutorial's own text: its files are written, its commands run, its sizes kept."""

import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "tutorial.md").read_text()
BLOCK = re.compile(r"```(\w+)(?: (\w+)=(\S+))?\n(.*?)```", re.S)


def files() -> dict[str, str]:
    return {value: body for _, key, value, body in BLOCK.findall(TEXT) if key == "file"}


def test_a_domain_over_an_existing_verifier_takes_at_most_twenty_lines() -> None:
    assert len(files()["vowels.yaml"].strip().splitlines()) <= 20


def test_a_new_verifier_is_a_function_of_at_most_eight_lines() -> None:
    source = files()["src/tutorial_anagram/__init__.py"]
    function = source[source.index("@assay.verifier") : source.index("@assay.hookimpl")]
    assert len(function.strip().splitlines()) <= 8


@pytest.mark.slow
def test_every_block_does_what_the_text_says(tmp_path: Path) -> None:
    # A small environment that sees this one's packages and takes the tutorial's package without touching them.
    venv.create(tmp_path / "venv", with_pip=False)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = tmp_path / "venv" / "lib" / version / "site-packages"
    here = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    (site / "outer.pth").write_text(f"import site; site.addsitedir({str(here)!r})\n")
    folder = tmp_path / "work"
    for language, key, value, body in BLOCK.findall(TEXT):
        if key == "file":
            path = folder / value
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body)
        elif language == "console":
            outputs = [run(line[2:], folder, tmp_path / "venv") for line in body.splitlines() if line.startswith("$ ")]
            status, output = outputs[-1]
            assert all(code == 0 for code, _ in outputs[:-1]), outputs
            assert (status == 0) == (key != "fails"), output
            assert key != "fails" or value in output
    _, output = run("assay check vowels.yaml", folder, tmp_path / "venv")
    assert "reward      [0, 1]" in output


def run(command: str, folder: Path, environment: Path) -> tuple[int, str]:
    python = environment / "bin" / "python"
    command = re.sub(r"^assay ", f"{python} -m assay ", command)
    command = re.sub(r"^pip ", f"{python} -m pip ", command)
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
