"""The command line over a registry made for the test: Assay's own things and one small package."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, NamedTuple

import pytest

from assay.core.declare import Domain
from assay.core.hook import hookimpl
from assay.core.leaf import Needs, SourceLeaf, Verifier, source, verifier
from assay.core.registry import Registry
from assay.core.signal import Signals, signal
from assay.runtime import builtin
from assay.runtime.cli import main


class Equal(Signals, frozen=True):
    """What the package measures."""

    equal: Annotated[bool, signal(better="up")]
    parsed: Annotated[bool, signal(better="up")]


@verifier("demo.equal", version=1, cost="1ms")
def equal(answer: str | None, expected: str) -> Equal:
    """Compare texts."""
    return Equal(equal=answer == expected, parsed=answer is not None)


@verifier("demo.boxed", version=1, cost="1ms", needs=Needs(sandbox=True))
def boxed(answer: str | None, expected: str) -> Equal:
    """Compare texts in a sandbox that nobody offers."""
    return Equal(equal=answer == expected, parsed=answer is not None)


class Numbers:
    """Rows that a test can make unfit."""

    def __init__(self, size: int, bad: int) -> None:
        self.size = size
        self.bad = bad

    def __len__(self) -> int:
        return self.size

    def read(self, index: int) -> dict[str, object]:
        if index == self.bad:
            return {"question": 3, "expected": "x"}
        return {"question": str(index), "expected": str(index)}


@source("demo.numbers", version=1)
def numbers(size: int, bad: int = -1) -> Numbers:
    """Numbers as texts."""
    return Numbers(size, bad)


@source("demo.broken", version=1)
def broken() -> Numbers:
    """A source that cannot be opened."""
    raise ZeroDivisionError("no rows today")


def domain(name: str, **keys: object) -> Domain:
    """Return a sound domain; `keys` replace its own."""
    given: dict[str, object] = {
        "domain": name,
        "version": 1,
        "fields": {"question": "str", "expected": "str"},
        "data": {"train": "demo.numbers(20)", "eval": "demo.numbers(10)", "demos": [
            {"question": "1", "expected": "1", "completion": "1"}
        ]},
        "prompt": "{question}",
        "params": {"bonus": 0.5},
        "verify": {"ans": "demo.equal(expected)"},
        "reward": {"outcome": {"correct": "1.0*ans.equal + bonus*ans.parsed"}},
        "examples": [{"given": {"ans.equal": True, "ans.parsed": True}, "reward": 1.5}],
    }  # fmt: skip
    return Domain(**{**given, **keys})  # type: ignore[arg-type]


class Package:
    """The package as a plugin module."""

    def __init__(self, *domains: Domain) -> None:
        self.domains = domains

    @hookimpl
    def assay_domains(self) -> list[Domain]:
        return list(self.domains)

    @hookimpl
    def assay_verifiers(self) -> list[Verifier]:
        return [equal, boxed]

    @hookimpl
    def assay_sources(self) -> list[SourceLeaf]:
        return [numbers, broken]


class Ran(NamedTuple):
    """What a call of the command gave."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def registry() -> Registry:
    """Assay itself and the package with two domains, which also stand in for those of the quickstart."""
    registry = Registry()
    registry.add(builtin, "assay-rl", "0.1.0")
    quickstart = [domain(f"quickstart.{name}") for name in ("spell", "caesar", "spiral", "sort")]
    registry.add(Package(domain("demo.one"), domain("demo.two"), *quickstart), "assay-demo", "1.0")
    return registry


@pytest.fixture
def run(registry: Registry, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process."""
    for verb in ("check", "plan", "test", "schema", "plugins"):
        monkeypatch.setattr(import_module(f"assay.runtime.cli.{verb}"), "installed", lambda: registry)

    def call(*words: str) -> Ran:
        status = main(words)
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return call


DOMAIN = """\
assay: 1
domain: demo.file
version: 1
fields: {question: str, expected: str}
data:
  train:
    - {question: "1+1", expected: "2"}
prompt: "{question}"
verify:
  ans: text.equal(expected)
reward:
  outcome:
    correct: 1.0*ans.equal
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a sound domain file, with parts of it replaced and text added."""

    def make(*replaced: tuple[str, str], name: str = "domain.yaml", more: str = "") -> Path:
        text = DOMAIN
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text + more)
        return path

    return make
