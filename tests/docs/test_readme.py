"""README: its domain checks, its messages are the compiler's, its plugin loads, its links lead somewhere."""

import importlib.util
import re
from pathlib import Path
from typing import Any

from assay.core.registry import Registry
from assay.dsl.compile import compile_bytes
from assay.dsl.source.diagnostic import render
from assay.runtime import builtin

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()


def block(language: str, index: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.S)[index]


def registry() -> Registry:
    found = Registry()
    found.add(builtin, "assay-rl", "0")
    return found


def test_the_domain_has_at_most_twenty_lines_and_the_shown_facts(tmp_path: Path) -> None:
    (tmp_path / "words.jsonl").write_text('{"word": "house", "vowels": "oue"}\n')
    text = block("yaml")
    compiled = compile_bytes(text.encode(), registry(), "vowels.yaml", tmp_path)
    assert compiled.findings == ()
    assert compiled.facts is not None
    assert compiled.facts.to_text() in block("console", 1)
    assert len(text.splitlines()) <= 20


def test_the_shown_message_is_the_compilers(tmp_path: Path) -> None:
    (tmp_path / "words.jsonl").write_text('{"word": "house", "vowels": "oue"}\n')
    wrong = block("yaml").replace("-0.1*min", "0.1*min")
    (found,) = compile_bytes(wrong.encode(), registry(), "vowels.yaml", tmp_path).findings
    assert render(found) in block("console", 2)


def test_the_plugin_loads() -> None:
    namespace: dict[str, Any] = {"__name__": "readme_plugin"}
    exec(block("python"), namespace)
    offers = Registry()
    offers.add(type("Plugin", (), {"assay_verifiers": staticmethod(namespace["assay_verifiers"])})(), "mine", "1")
    assert offers.failures == []
    assert ("mine.same",) == offers.names("verifier")


def test_every_link_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_measured_table_shows_the_stored_figures(repository: Path) -> None:
    path = repository / "bench" / "_table.py"
    spec = importlib.util.spec_from_file_location("bench_table", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.BEGIN + module.table() + module.END in TEXT
