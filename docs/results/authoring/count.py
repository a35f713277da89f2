"""Count the lines of one domain in five systems, and write them into the page.

    python docs/results/authoring/count.py            prints the tables
    python docs/results/authoring/count.py --write    puts them into docs/results/authoring.md

A line counts where it is neither blank, nor a comment, nor part of a docstring. Tasks (`*.jsonl`) are data and do not
count. What a file's lines are for: `tests` under tests/, `packaging` in pyproject.toml, requirements.txt and
`__init__.py`, `code` in other Python files, `declaration` in YAML. Of an Assay domain file `examples` and `controls`
are tests: they are what the test functions of the others are.
"""

import ast
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.with_suffix(".md")
BEGIN, END = "<!-- counted -->\n", "<!-- /counted -->"
SYSTEMS = {
    "assay": "Assay",
    "verifiers": "verifiers",
    "nemo_gym": "NeMo Gym",
    "inspect": "Inspect",
    "trl": "TRL",
}
KINDS = ("declaration", "code", "tests", "packaging")
_TESTED_BY = ("examples:", "controls:")


def tables() -> str:
    """Return both tables: by system and kind, and by file."""
    counts = {system: {path: count(HERE / system / path) for path in files(HERE / system)} for system in SYSTEMS}
    lines = [f"| system | {' | '.join(KINDS)} | all | files |", "|---|" + "--:|" * (len(KINDS) + 2)]
    for system, name in SYSTEMS.items():
        of_kind: Counter[str] = sum(counts[system].values(), Counter())
        cells = [str(of_kind[kind]) for kind in KINDS]
        lines.append(f"| {name} | {' | '.join(cells)} | {of_kind.total()} | {len(counts[system])} |")
    lines += ["", "| file | lines |", "|---|---|"]
    for system, by_path in counts.items():
        for path, of_kind in by_path.items():
            text = ", ".join(f"{of_kind[kind]} {kind}" for kind in KINDS if of_kind[kind])
            lines.append(f"| [`{system}/{path}`](authoring/{system}/{path}) | {text} |")
    return "\n".join(lines) + "\n"


def files(folder: Path) -> list[str]:
    """Return the files of a system that have lines of their own."""
    found = (path for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".yaml", ".toml", ".txt"))
    return [path.relative_to(folder).as_posix() for path in found if count(path).total()]


def count(path: Path) -> Counter[str]:
    """Return how many lines of a file are of which kind."""
    text = path.read_text()
    prose = _docstrings(text) if path.suffix == ".py" else set()
    kind, found = _kind(path), Counter[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        if kind == "declaration" and line.startswith(_TESTED_BY):
            kind = "tests"
        if line.strip() and not line.lstrip().startswith("#") and number not in prose:
            found[kind] += 1
    return found


def _kind(path: Path) -> str:
    if "tests" in path.parts[-2:-1]:
        return "tests"
    if path.name in ("pyproject.toml", "requirements.txt", "__init__.py"):
        return "packaging"
    return "code" if path.suffix == ".py" else "declaration"


def _docstrings(text: str) -> set[int]:
    """Return the numbers of the lines that docstrings stand on."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case (
                ast.Module(body=[first, *_])
                | ast.ClassDef(body=[first, *_])
                | ast.FunctionDef(body=[first, *_])
                | ast.AsyncFunctionDef(body=[first, *_])
            ):
                if ast.get_docstring(node) is not None and first.end_lineno is not None:
                    lines |= set(range(first.lineno, first.end_lineno + 1))
    return lines


def main() -> None:
    """Print the tables, or replace those of the page."""
    if sys.argv[1:] != ["--write"]:
        print(tables(), end="")
        return
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + tables() + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
