"""Every code has a page; every wrong example gives just that finding and the shown message, every right one none."""

import importlib.util
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.core import error
from assay.core.hook import hookimpl
from assay.core.registry import Registry, installed
from assay.dsl.compile import compile_bytes
from assay.dsl.curriculum import compile_curriculum
from assay.dsl.source.diagnostic import Finding, render
from assay.dsl.source.loader import load
from assay.runtime import builtin
from assay.runtime.cli.job import read_jobs

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "errors").glob("[A-Z]*.md"))
LANGUAGE = [page for page in PAGES if not page.stem.startswith("AS")]
RUNTIME = [page for page in PAGES if page.stem.startswith("AS")]
# Only a run meets them: their pages say when, and tests of the runtime meet them.
IN_A_RUN = {"AS009": "TransitionError", "AS010": "RunFailed", "AS011": "GraderError", "AS012": "JudgeError"}
CODE = re.compile(r"\b(?:YM|DA|RX|RW|CT|SB|DT|CU|PL|CF|AS)\d{3}\b")

BASE = {
    "assay": "assay: 1\n",
    "domain": "domain: docs.sums\n",
    "version": "version: 1\n",
    "fields": "fields: {question: str, expected: str}\n",
    "data": 'data:\n  train:\n    - {question: "1+1", expected: "2"}\n',
    "prompt": 'prompt: "{question}"\n',
    "verify": "verify:\n  ans: number.equal(expected)\n",
    "reward": "reward:\n  outcome:\n    correct: 1.0*ans.equal\n",
}
CURRICULUM = {
    "assay": "assay: 1\n",
    "curriculum": "curriculum: docs\n",
    "mix": "mix:\n  sums: {domain: DOMAIN}\n",
}


@pytest.fixture(scope="module")
def registry() -> Registry:
    path = Path(__file__).with_name("plugin.py")
    spec = importlib.util.spec_from_file_location("docs_test_plugin", path)
    assert spec is not None
    assert spec.loader is not None
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    registry = Registry()
    registry.add(builtin, "assay-rl", "0")
    registry.add(plugin, "assay-docs", "0")
    for dist in ("assay-essays", "assay-letters"):
        registry.add(SimpleNamespace(assay_verifiers=hookimpl(lambda: [plugin.match])), dist, "1.0")
    assert registry.failures == []
    return registry


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S)


def override_findings(block: str) -> list[Finding]:
    """Check the overrides of the one command in a block."""
    _, verb, *words = shlex.split(block.removeprefix("$ "))
    assert "check" == verb
    return read_jobs(words, False, installed())[1]


def findings(fragment: str, registry: Registry, folder: Path) -> tuple[Finding, ...]:
    """Check a fragment put into the smallest file it belongs to."""
    keys = re.findall(r"^(\w+):", fragment, re.M)
    is_curriculum = bool({"mix", "require", "stages"} & set(keys))
    base = {**(CURRICULUM if is_curriculum else BASE)}
    for key in keys:
        start = re.search(rf"^{key}:", fragment, re.M)
        assert start is not None
        following = re.search(r"^\w+:", fragment[start.end() :], re.M)
        end = start.end() + following.start() if following else len(fragment)
        base[key] = fragment[start.start() : end]
    if "rewad" in keys:
        del base["reward"]
    text = "".join(base.values())
    if not is_curriculum:
        return compile_bytes(text.encode(), registry, "domain.yaml", folder).findings
    (folder / "sums.yaml").write_text("".join(BASE.values()))
    loaded = load(text.replace("DOMAIN", "sums.yaml").encode(), "curriculum.yaml")
    assert loaded.tree is not None
    return compile_curriculum(loaded.tree, registry, folder, findings=loaded.findings).findings


def test_every_code_in_the_sources_has_a_page() -> None:
    sources = [path for folder in ("core", "dsl", "runtime") for path in (ROOT / folder).rglob("*.py")]
    used = {code for path in sources for code in CODE.findall(path.read_text())}
    assert used - {page.stem for page in PAGES} == set()


def test_every_error_class_has_a_page() -> None:
    classes = [item for item in vars(error).values() if isinstance(item, type) and issubclass(item, error.AssayError)]
    assert {item.code for item in classes} - {page.stem for page in PAGES} == set()


@pytest.mark.parametrize("page", LANGUAGE, ids=lambda page: page.stem)
def test_examples_of_a_page_say_what_the_compiler_says(page: Path, registry: Registry, tmp_path: Path) -> None:
    examples = blocks(page, "yaml")
    if page.stem == "CF001":
        wrong, right = blocks(page, "console")
        assert override_findings(right) == []
        found: Sequence[Finding] = override_findings(wrong)
    else:
        wrong, right = examples
        assert findings(right, registry, tmp_path) == ()
        found = findings(wrong, registry, tmp_path)
    assert {page.stem} == {item.code for item in found}
    assert blocks(page, "text")[0].rstrip("\n") == "\n\n".join(render(item) for item in found)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in RUNTIME if page.stem not in IN_A_RUN], ids=lambda page: page.stem)
def test_programs_of_a_page_raise_what_it_shows_and_nothing(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, right = (compile(text, page.name, "exec") for text in blocks(page, "python"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error.AssayError) as caught:
        exec(wrong, {"__name__": page.stem})
    assert page.stem == caught.value.error_code
    assert blocks(page, "text")[0].rstrip("\n") == str(caught.value)
    exec(right, {"__name__": page.stem})


def test_errors_that_only_a_run_meets_are_met_by_tests() -> None:
    places = [*(ROOT / "tests" / "runtime").rglob("test_*.py"), *(ROOT / "runtime" / "testing").glob("*.py")]
    tests = "".join(path.read_text() for path in places)
    assert [] == [code for code, name in IN_A_RUN.items() if name not in tests and code not in tests]
    assert set(IN_A_RUN) <= {page.stem for page in RUNTIME}
