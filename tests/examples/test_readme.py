"""What the READMEs of the examples write in a domain file compiles as it stands there."""

import importlib
import re
import shutil
from pathlib import Path

import pytest
from tests.examples.conftest import ROOT

from assay.core.registry import Registry
from assay.dsl.compile import compile_bytes
from assay.dsl.source.diagnostic import render
from assay.runtime import builtin

BASE = {
    "assay": "assay: 1\n",
    "domain": "domain: docs.example\n",
    "version": "version: 1\n",
    "fields": "fields: {question: str, expected: str}\n",
    "data": 'data: {train: [{question: "1+1", expected: "2"}]}\n',
    "prompt": 'prompt: "{question}"\n',
    "verify": "verify: {ans: number.equal(expected)}\n",
    "reward": "reward: {outcome: {correct: 1.0*ans.equal}}\n",
}
DATA = {
    "verifier": "data: {train: [{question: q, passages: [a]}]}\n",
    "parser": "data: {train: [{question: q, options: o, letter: A}]}\n",
}


@pytest.mark.parametrize("kind", ["verifier", "parser", "function", "tool", "source", "sandbox"])
def test_shown_part_of_a_domain_compiles(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = ROOT / "examples" / kind
    monkeypatch.syspath_prepend(example / "src")
    registry = Registry()
    registry.add(builtin, "assay-rl", "0.1.0")
    registry.add(importlib.import_module(f"assay_example_{kind}"), f"assay-example-{kind}", "0.1.0")
    assert [] == registry.failures
    shutil.copy(ROOT / "examples" / "source" / "tests" / "questions.jsonl", tmp_path)
    (shown,) = re.findall(r"```yaml\n(.*?)```", (example / "README.md").read_text(), re.S)
    parts = BASE | ({"data": DATA[kind]} if kind in DATA else {})
    parts |= {match[1]: match[0] for match in re.finditer(r"(?ms)^(\w+):.*?(?=^\w+:|\Z)", shown)}
    found = compile_bytes("".join(parts.values()).encode(), registry, f"examples/{kind}/README.md", tmp_path).findings
    assert [] == [render(one) for one in found]
