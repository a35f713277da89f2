"""The wheel holds every file, whatever became of the links."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_wheel

PACKAGES = ("core", "dsl", "runtime", "conf")


def remove(link: Path) -> None:
    link.unlink()


def write_out(link: Path) -> None:
    """Do what git does where it cannot make links: a text file that holds the target."""
    target = str(link.readlink())
    link.unlink()
    link.write_text(target)


@pytest.mark.parametrize("lose_link", [remove, write_out])
def test_wheel_of_a_checkout_without_links_is_complete(lose_link, checkout, tmp_path, monkeypatch) -> None:
    expected = {"assay/__init__.py", "assay/__main__.py", "assay/py.typed", "assay/testing.py"}
    for package in PACKAGES:
        lose_link(checkout / "src" / "assay" / package)
        files = [path for path in (checkout / package).rglob("*") if path.is_file()]
        assert checkout / package / "__init__.py" in files
        expected |= {f"assay/{path.relative_to(checkout)}" for path in files}

    monkeypatch.chdir(checkout)
    wheel = tmp_path / build_wheel(str(tmp_path))
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
        program = "import sys; sys.path.insert(0, sys.argv[1]); import assay.core; print(assay.__version__)"
        version = wheel.name.split("-")[1]
    assert expected == packed

    found = subprocess.run([sys.executable, "-I", "-S", "-c", program, str(wheel)], capture_output=True, text=True)
    assert (f"{version}\n", "") == (found.stdout, found.stderr)


@pytest.mark.parametrize("package", PACKAGES)
def test_git_stores_links(package: str, repository: Path) -> None:
    if not (repository / ".git").exists():
        pytest.skip("not a git checkout")
    link = f"src/assay/{package}"
    listed = subprocess.run(
        ["git", "ls-files", "--stage", link], cwd=repository, check=True, capture_output=True, text=True
    ).stdout
    assert "120000" == listed.split()[0]
    assert f"../../{package}" == str((repository / link).readlink())
