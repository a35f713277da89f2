"""Tab completion, asked of a real shell."""

import shutil
import subprocess
from pathlib import Path

import pytest

from assay.runtime.cli import VERBS, main, verb_parser

SHELLS = ["bash", *(shell for shell in ("zsh", "fish") if shutil.which(shell))]

# What bash hands to a completion function, and what that function answers with.
ASK = """\
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_assay
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("completion")
    return {shell: folder / f"assay.{shell}" for shell in ("bash", "zsh", "fish")}


@pytest.fixture(autouse=True)
def script(scripts: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    for shell, path in scripts.items():
        if not path.exists():
            assert 0 == main(["completion", shell])
            path.write_text(capsys.readouterr().out)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("runs/first", "sub"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("mine.yaml", "notes.txt", "with space.yaml"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "replies"),
    [
        (["ch"], {"check"}),
        ([""], set(VERBS)),
        (["check", "--f"], {"--format"}),
        (["check", "--format", ""], {"text", "json"}),
        (["check", "--format", "=", "js"], {"json"}),
        (["check", "quickstart.sp"], {"quickstart.spell", "quickstart.spiral"}),
        (["check", "mi"], {"mine.yaml"}),
        (["check", "no"], set()),
        (["check", "with"], {"with space.yaml"}),
        (["plan", "eng"], None),
        (["plan", "engine", "="], {"embedded"}),
        (["plan", "-m", "trainer.lr", "=", "1e-3", "engine", "=", "em"], {"embedded"}),
        (["train", "trainer.lr"], {"trainer.lr=", "trainer.lr_floor="}),
        (["train", "curriculum", "=", "q"], {"quickstart"}),
        (["train", "curriculum", "=", "m"], {"mine.yaml"}),
        (["explain", "fi"], {"first"}),
        (["explain", "runs/"], {"runs/first"}),
        (["init", "d"], {"domain"}),
        (["init", "domain", "x", "--folder", "s"], {"sub"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
        (["test", "quickstart.spell", "--con"], {"--controls"}),
        (["nonsense", ""], set()),
    ],
)
def test_bash_completes(words: list[str], replies: set[str] | None, scripts: dict[str, Path], folder: Path) -> None:
    argv = ["bash", "--norc", "-c", ASK, "bash", str(scripts["bash"]), "assay", *words]
    ran = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
    assert (0, "") == (ran.returncode, ran.stderr)
    found = set(ran.stdout.split("\n")) - {""}
    if replies is None:
        assert {"engine=", "engine.dtype="} <= found
    else:
        assert replies == found


@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_well_formed(shell: str, scripts: dict[str, Path]) -> None:
    ran = subprocess.run([shell, "-n", str(scripts[shell])], capture_output=True, text=True)
    assert (0, "", "") == (ran.returncode, ran.stdout, ran.stderr)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_holds_every_verb_option_and_domain(shell: str, scripts: dict[str, Path]) -> None:
    text = scripts[shell].read_text()
    options = {name for verb in VERBS for action in verb_parser(verb)._actions for name in action.option_strings}
    spelled = {f"-l {name[2:]}" if shell == "fish" and name.startswith("--") else name for name in options}
    spelled = {f"-s {name[1:]}" if shell == "fish" and name[0] == "-" and name[1] != "l" else name for name in spelled}
    assert [] == [name for name in (*VERBS, *spelled, "quickstart.spell", "engine=embedded") if name not in text]


def test_wrong_shell_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["completion", "tcsh"])
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
