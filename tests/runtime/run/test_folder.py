"""Run folders: their names, and how they are found."""

from pathlib import Path

import pytest

from assay.core.error import ConfigError
from assay.runtime.run.folder import make_folder
from assay.runtime.run.prepare import find_run


@pytest.mark.parametrize("name", ["a/b", "../out", "a\0b", "two\nlines"])
def test_name_that_leads_elsewhere_is_refused_before_anything_is_made(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="part of a file's name"):
        make_folder(tmp_path / "runs", name)
    assert not (tmp_path / "runs").exists()


def test_latest_points_to_the_newest_of_two_runs_of_one_second(tmp_path: Path) -> None:
    first, second = (make_folder(tmp_path, "one") for _ in range(2))
    assert first.path != second.path
    assert second.path == (tmp_path / "latest").resolve()


def test_where_there_is_no_run_the_error_says_what_makes_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No run is there: `assay train` makes one"):
        find_run("latest", tmp_path)


def test_misspelt_run_is_told_which_there_are(tmp_path: Path) -> None:
    for name in ("hacked", "honest"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.json").touch()
    with pytest.raises(ConfigError, match="did you mean `hacked`"):
        find_run("haked", tmp_path)
    with pytest.raises(ConfigError, match="known: hacked, honest"):
        find_run("x", tmp_path)
