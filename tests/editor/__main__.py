"""Try the editor settings of `docs/editor.md` as they stand there, and print what each editor offers and says.

    npm install --prefix /tmp/yls yaml-language-server
    python -m tests.editor --server /tmp/yls/node_modules/.bin/yaml-language-server [--nvim nvim] [--emacs emacs]

Neovim and Emacs run themselves, without a window, with the page's block as their configuration. VS Code, Helix and Zed
are not started: the settings of the page are handed to the server over its protocol, under the section where these
editors keep them. Not collected by pytest, which needs nothing but Python.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.editor.server import Server

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "editor.md"
LINE, COLUMN = 7, 7
FILE = """\
assay: 1
domain: demo.vowels
version: 1
fields: {word: str, vowels: str}
data:
  train: jsonl("words.jsonl")
verify:
  ans: t
promt: x
"""
# What a right set-up offers at `ans: |`, and says of the file.
OFFERED = "text.equal()"
SAID = ("Property promt is not allowed.", 'Missing property "prompt".')


def main() -> int:
    """Try every editor that is there; 1 when one of them offers or says something else."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, type=Path, help="the yaml-language-server program")
    parser.add_argument("--nvim", help="a Neovim of 0.11 or later")
    parser.add_argument("--emacs", help="an Emacs with Eglot and yaml-mode on its load path")
    parser.add_argument("--emacs-load", action="append", default=[], metavar="FOLDER", help="added to its load path")
    arguments = parser.parse_args()
    failed = 0
    for name, attempt in attempts(arguments).items():
        with workspace() as folder:
            try:
                version, lines = attempt(folder)
            except (OSError, subprocess.SubprocessError, TimeoutError, KeyError) as error:
                version, lines = "", [f"{type(error).__name__}: {error}"]
        items = [line.removeprefix("ITEM ") for line in lines if line.startswith("ITEM ")]
        said = [line.removeprefix("DIAG ") for line in lines if line.startswith("DIAG ")]
        is_right = OFFERED in items and all(any(text in one for one in said) for text in SAID)
        failed += not is_right
        print(f"{'right' if is_right else 'WRONG'}  {name:<10} {version}: {len(items)} offered, {len(said)} said")
        if not is_right:
            print("\n".join(f"       {line}" for line in lines[:12]))
    return int(failed > 0)


def attempts(arguments: argparse.Namespace) -> dict[str, Callable[[Path], tuple[str, list[str]]]]:
    """Return what to try, by the name of the editor."""
    server = arguments.server.resolve()
    vscode = json.loads(block("vscode"))
    helix = tomllib.loads(block("helix"))["language-server"]["yaml-language-server"]["config"]
    zed = json.loads(block("zed"))["lsp"]["yaml-language-server"]["settings"]
    found: dict[str, Callable[[Path], tuple[str, list[str]]]] = {
        "vscode": lambda folder: serve(server, folder, {"yaml": {"schemas": vscode["yaml.schemas"]}}),
        "helix": lambda folder: serve(server, folder, helix),
        "zed": lambda folder: serve(server, folder, zed),
        "first line": lambda folder: serve(
            server, folder, {}, "# yaml-language-server: $schema=../../domain.schema.json"
        ),
    }
    if arguments.nvim:
        found["neovim"] = lambda folder: neovim(arguments.nvim, server, folder)
    if arguments.emacs:
        found["emacs"] = lambda folder: emacs(arguments.emacs, arguments.emacs_load, server, folder)
    return found


def block(editor: str) -> str:
    """Return the settings of an editor as the page shows them."""
    match = re.search(rf"<!-- editor: {editor} -->\n+```\w*\n(.*?)```", PAGE.read_text(), re.S)
    if match is None:
        raise KeyError(f"docs/editor.md has no block for {editor}")
    return match[1]


@contextmanager
def workspace() -> Iterator[Path]:
    """Make a folder with a schema and a file that has faults."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / ".git").mkdir()
        (folder / "conf" / "domain").mkdir(parents=True)
        (folder / "conf" / "domain" / "vowels.yaml").write_text(FILE)
        made = subprocess.run([sys.executable, "-m", "assay", "schema", "domain"], capture_output=True, check=True)
        (folder / "domain.schema.json").write_bytes(made.stdout)
        yield folder


def serve(program: Path, folder: Path, settings: dict[str, Any], head: str = "") -> tuple[str, list[str]]:
    """Hand settings to the server as an editor does, and ask it."""
    path = folder / "conf" / "domain" / "vowels.yaml"
    text = f"{head}\n{FILE}" if head else FILE
    with Server(program, folder, settings) as server:
        said = server.open(path, text, len(SAID))
        items = server.complete(path, LINE + bool(head), COLUMN)
        version = server.version
    return version, [*(f"ITEM {item}" for item in items), *(f"DIAG {message}" for message in said)]


def neovim(program: str, server: Path, folder: Path) -> tuple[str, list[str]]:
    """Start Neovim with the page's block as its `init.lua`."""
    (folder / "init.lua").write_text(block("neovim"))
    argv = [program, "--headless", "-u", "init.lua", "-l", str(HERE / "probe.lua")]
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return version.splitlines()[0], _run(argv, server, folder)


def emacs(program: str, load: list[str], server: Path, folder: Path) -> tuple[str, list[str]]:
    """Start Emacs with the page's block as its `init.el`."""
    (folder / "init.el").write_text(block("emacs"))
    paths = [part for place in load for part in ("-L", place)]
    argv = [program, "--batch", "-Q", *paths, "-l", "init.el", "-l", str(HERE / "probe.el")]
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return version.splitlines()[0], _run(argv, server, folder)


def _run(argv: list[str], server: Path, folder: Path) -> list[str]:
    home = {name: str(folder / "home") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}
    environment = {**os.environ, **home, "PATH": f"{server.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=90, check=False)
    return (done.stdout + done.stderr).splitlines()


if __name__ == "__main__":
    sys.exit(main())
