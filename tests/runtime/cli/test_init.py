"""A package that `assay init` writes passes its own tests at once, and nothing that exists is touched."""

import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from assay.core.registry import installed
from assay.dsl.index import DomainIndex
from assay.runtime.cli import main
from assay.runtime.template.package import Package


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_new_package_passes_its_own_ci_at_once(folder: Path) -> None:
    # A small environment that sees this one's packages, and takes the new one without touching them.
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    site = folder / "venv" / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    here = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    (site / "outer.pth").write_text(f"import site; site.addsitedir({str(here)!r})\n")
    assert 0 == main(["init", "domain", "word-count"])
    package = folder / "assay-domain-word-count"
    # Without a network: what builds it is there already.
    env = {**os.environ, "PYTHON": str(python), "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_DEPS": "1"}
    ran = subprocess.run([str(package / ".ci" / "run")], cwd=folder, env=env, capture_output=True, text=True)
    assert 0 == ran.returncode, ran.stdout + ran.stderr
    assert "21 passed" in ran.stdout
    for words in (["check", "--strict", "word_count"], ["test", "--controls", "word_count"]):
        ran = subprocess.run([python, "-m", "assay", *words], cwd=folder, capture_output=True, text=True)
        assert (0, "") == (ran.returncode, ran.stderr), ran.stdout
    assert "pass  controls.padded" in ran.stdout


def test_every_file_is_filled_in_and_scripts_can_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["init", "domain", "sums", "--folder", "new/place"])
    made = {path.relative_to(folder / "new/place").as_posix() for path in (folder / "new/place").rglob("*.*")}
    assert {
        "pyproject.toml",
        "README.md",
        ".gitignore",
        "src/assay_domain_sums/verifier.py",
        "tests/test_domain.py",
    } < made
    texts = [path.read_text() for path in (folder / "new/place").rglob("*") if path.is_file()]
    assert [] == [text for text in texts if "@" in text.replace("@assay.", "").replace("@pytest.", "")]
    assert os.access(folder / "new/place/.ci/run", os.X_OK)
    assert "pip install --editable '.[test]' && pytest" in capsys.readouterr().out
    assert [folder / "new/place"] == list((folder / "new").iterdir())


def test_package_asks_for_the_host_that_wrote_it() -> None:
    project = tomllib.loads(Package("sums", Path()).files()["pyproject.toml"])["project"]
    assert (["assay-rl>=0.1,<0.2"], "assay-domain-sums") == (project["dependencies"], project["name"])
    assert "license" not in project


@pytest.mark.parametrize("name", ["", "Sums", "1sum", "a b", "a.b", "../x", "a__b", "-a", "a-", "é", "a" * 61])
def test_bad_name_is_refused(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == main(["init", "domain", "--", name])
    assert "a name must be at most 60 lower-case letters" in capsys.readouterr().err
    assert [] == list(folder.iterdir())


def test_name_that_is_installed_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "assay-domain-reasoning-gym" in {found.dist for found in DomainIndex(installed()).all()}
    assert 1 == main(["init", "domain", "reasoning-gym"])
    assert "got assay_domain_reasoning_gym" in capsys.readouterr().err
    assert [] == list(folder.iterdir())


@pytest.mark.parametrize("is_file", [True, False])
def test_what_exists_is_not_touched(is_file: bool, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = folder / "assay-domain-sums"
    target.write_text("mine") if is_file else target.mkdir()
    assert 1 == main(["init", "domain", "sums"])
    assert "a folder that does not exist yet, got assay-domain-sums" in capsys.readouterr().err
    assert [target] == list(folder.iterdir())
    assert "mine" == target.read_text() if is_file else [] == list(target.iterdir())


def test_folder_that_cannot_be_written_leaves_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "file").write_text("no folder")
    assert 1 == main(["init", "domain", "sums", "--folder", "file/sums"])
    assert "a new package must be writable" in capsys.readouterr().err
    assert [folder / "file"] == list(folder.iterdir())
