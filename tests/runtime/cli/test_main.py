"""The frame of the command: help, wrong usage, streams, start-up."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay import __version__
from assay.runtime import cli
from assay.runtime.cli import VERBS, main

HEAVY = ("hydra", "omegaconf", "torch", "numpy", "zmq", "transformers", "megatron", "reasoning_gym", "sympy", "rich")


def start(*words: str, **options: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "assay", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        **options,  # type: ignore[call-overload]
    )


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_is_short_and_has_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main([verb, "--help"])
    text = capsys.readouterr().out
    assert "examples:" in text
    assert len(text.splitlines()) <= 50
    assert max(map(len, text.splitlines())) <= 120


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["--help"])
    text = capsys.readouterr().out
    assert [] == [verb for verb, line in VERBS.items() if f"  {verb}" not in text or line not in text]


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["--version"])
    assert f"assay {__version__}\n" == capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "run a curriculum and train a policy on it"),
        (["chek"], "did you mean `check`"),
        (["check", "--fromat", "json"], "--fromat"),
        (["check", "--form", "json"], "--form"),
        (["schema", "dmain"], "invalid choice"),
        (["fmt"], "FILE"),
    ],
)
def test_wrong_usage_is_status_2_on_stderr(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(words)
    captured = capsys.readouterr()
    assert ("", True) == (captured.out, text in captured.err)


def test_error_of_ours_is_one_line_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from assay.core.error import ConfigError

    def fail(*_: object) -> int:
        raise ConfigError("a thing must hold", got=3)

    monkeypatch.setattr(cli, "_run", fail)
    assert 1 == main(["check"])
    assert ("", "error[CF001]: a thing must hold, got 3\n") == capsys.readouterr()


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--help"], ["check", "FILE"], ["check", "FILE", "--format", "json"], ["plugins"]])
def test_verbs_on_files_load_nothing_heavy(words: list[str], write: Callable[..., Path]) -> None:
    path = write()
    words = [str(path) if word == "FILE" else word for word in words]
    program = (
        "import sys; from assay.__main__ import main; sys.argv[1:] = sys.argv[1:]; status = main();"
        "print(status, *sorted(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    status, *modules = ran.stderr.splitlines()[-1].split()
    assert "0" == status, ran.stdout
    assert [] == [name for name in HEAVY if name in modules]


@pytest.mark.slow
def test_closed_pipe_is_quiet() -> None:
    with start("schema", "domain") as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert (0, "") == (process.wait(timeout=30), process.stderr.read())


@pytest.mark.slow
def test_interrupt_is_quiet(tmp_path: Path) -> None:
    fifo = tmp_path / "domain.yaml"
    os.mkfifo(fifo)
    # Opening the other end waits until the command waits for its file.
    with start("check", str(fifo)) as process, fifo.open("wb"):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (130, "", "") == (process.returncode, out, err)


@pytest.mark.slow
def test_output_that_is_no_terminal_has_no_colour(write: Callable[..., Path]) -> None:
    with start("check", str(write(("ans.equal", "ans.eqal")))) as process:
        out, _ = process.communicate(timeout=30)
    assert "error[RX001]" in out
    assert "\x1b" not in out


@pytest.mark.slow
def test_character_that_the_terminal_lacks_is_escaped(write: Callable[..., Path]) -> None:
    path = write(("ans.equal", "ans.gleich\u00e4"))
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run([sys.executable, "-m", "assay", "check", str(path)], capture_output=True, env=env, check=False)
    assert (1, b"") == (ran.returncode, ran.stderr)
    assert rb"1.0*ans.gleich\xe4" in ran.stdout


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_stream_is_the_null_device(closed: str, tmp_path: Path) -> None:
    line = f"exec {sys.executable} -m assay plugins {closed}"
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (0, "") == (ran.returncode, ran.stderr)
    line = f"exec {sys.executable} -m assay review nowhere {closed}"
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (1, "2>&-" in closed) == (ran.returncode, ran.stderr == "")
    assert "Traceback" not in ran.stderr
