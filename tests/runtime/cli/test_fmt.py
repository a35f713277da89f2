"""`assay fmt`: files are rewritten whole or not at all."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Write = Callable[..., Path]


def untidy(write: Write) -> Path:
    return write(("fields: {question: str, expected: str}", "fields:   {question: str,   expected: str}"))


def test_file_is_rewritten_once(run: Run, write: Write) -> None:
    path = untidy(write)
    ran = run("fmt", str(path))
    assert (0, "", "1 file changed, 0 left, 0 failed\n") == ran
    text = path.read_text()
    assert "fields: {question: str, expected: str}" in text
    ran = run("fmt", str(path))
    assert (0, "0 files changed, 1 left, 0 failed\n", text) == (ran.status, ran.err, path.read_text())


@pytest.mark.parametrize(("flag", "text"), [("--check", "would change"), ("--diff", "-fields:   {")])
def test_check_and_diff_change_nothing(run: Run, write: Write, flag: str, text: str) -> None:
    path = untidy(write)
    before = path.read_text()
    ran = run("fmt", flag, str(path))
    assert (1, before) == (ran.status, path.read_text())
    assert text in ran.out
    run("fmt", str(path))
    assert 0 == run("fmt", flag, str(path)).status


def test_file_that_cannot_be_read_keeps_no_other_from_being_formatted(run: Run, write: Write, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    path = untidy(write)
    ran = run("fmt", str(broken), str(tmp_path / "absent.yaml"), str(path))
    assert (1, "a: [") == (ran.status, broken.read_text())
    assert "error[YM005]" in ran.err
    assert "absent.yaml" in ran.err
    assert ran.err.endswith("1 file changed, 0 left, 2 failed\n")


def test_link_and_mode_stay(run: Run, write: Write, tmp_path: Path) -> None:
    path = untidy(write)
    path.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    run("fmt", str(link))
    assert link.is_symlink()
    assert 0o640 == path.stat().st_mode & 0o777
    assert "fields: {question: str, expected: str}" in path.read_text()
    assert ["domain.yaml", "link.yaml"] == sorted(os.listdir(tmp_path))


def test_dash_is_stdin_to_stdout(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    data = untidy(write).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    ran = run("fmt", "-")
    assert 0 == ran.status
    assert "fields: {question: str, expected: str}" in ran.out
