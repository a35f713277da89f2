"""Break each protection on purpose, in a copy of the checkout, and see its test turn red.

    python -m tests.sabotage [name ...]

Each `*.toml` beside this file lists sabotages: `what`, `file`, `old` (must occur once), `new`, `test`. Ends with 1 when
a test stays green: then it protects nothing.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "runs", "__pycache__", ".*_cache", "node_modules", "results")


def main(names: list[str]) -> int:
    """Run the named lists, or all; returns the exit status."""
    lists = [HERE / f"{name}.toml" for name in names] or sorted(HERE.glob("*.toml"))
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=LEFT_OUT)
        for path in lists:
            for item in tomllib.loads(path.read_text())["sabotage"]:
                is_red = _turns_red(copy, item)
                survived += not is_red
                print(f"{'red  ' if is_red else 'GREEN'}  {path.stem}: {item['what']}  [{item['test']}]", flush=True)
    print(f"{survived} sabotages survived")
    return int(survived > 0)


def _turns_red(copy: Path, item: dict[str, str]) -> bool:
    path = copy / item["file"]
    text = path.read_text()
    if text.count(item["old"]) != 1:
        raise SystemExit(f"{item['file']} must hold the text once, got {text.count(item['old'])}: {item['old']!r}")
    path.write_text(text.replace(item["old"], item["new"]))
    try:
        # 1 is a failed test; anything else (a syntax error, no test found) proves nothing.
        return _pytest(copy, item["test"]) == 1
    finally:
        path.write_text(text)


def _pytest(copy: Path, test: str) -> int:
    argv = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *shlex.split(test)]
    # Plugins are installed from the checkout itself: the copy's come first.
    places = [copy / "src", copy, *sorted(copy.glob("plugins/*/src"))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
    return subprocess.run(argv, cwd=copy, env=environment, capture_output=True, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
