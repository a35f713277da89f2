"""The page on lines per domain shows what its script counts, and what it says of rewards is what was graded."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from assay.core.registry import installed
from assay.dsl.compile import compile_file

PAGE = Path(__file__).parents[2] / "docs" / "results" / "authoring.md"
FOLDER = PAGE.with_suffix("")


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answers() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / "answers.jsonl").read_text().splitlines()]


def test_the_page_shows_what_the_script_counts() -> None:
    count = script("count")
    assert count.tables() == PAGE.read_text().split(count.BEGIN)[1].split(count.END)[0]


def test_comments_docstrings_and_blank_lines_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(
        '"""Two\nlines."""\n\n# a comment\nX = """\nnot prose"""\n\n\ndef f():\n    "Doc."\n'
    )
    (tmp_path / "domain.yaml").write_text("# a comment\nassay: 1\nexamples:\n  - one\n")
    count = script("count").count
    assert {"code": 3} == dict(count(tmp_path / "code.py"))
    assert {"declaration": 1, "tests": 2} == dict(count(tmp_path / "domain.yaml"))


def test_all_systems_paid_what_the_answers_are_worth() -> None:
    kept, rewards = json.loads((FOLDER / "rewards.json").read_text()), [row["reward"] for row in answers()]
    assert set(script("count").SYSTEMS) == set(kept)
    for system, entry in kept.items():
        assert pytest.approx(rewards, abs=1e-6) == entry["rewards"], system
        assert entry["version"] in PAGE.read_text(), system


def test_this_version_still_pays_it() -> None:
    found, _ = script("compare").GRADERS["assay"](answers())
    assert pytest.approx([row["reward"] for row in answers()]) == found


def test_the_domain_has_the_range_that_the_page_names() -> None:
    compiled = compile_file(FOLDER / "assay/src/assay_domain_sums/conf/domain/sums.yaml", installed())
    assert compiled.findings == () and compiled.facts is not None
    assert "[-0.2, 1]" in compiled.facts.to_text() and "[-0.2, 1], proved" in PAGE.read_text()
