"""A scope, a plugin and a registry that all tests of the language share."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import assay
from assay.core.registry import Registry
from assay.dsl.compile import Compiled, compile_bytes

_PLUGIN = Path(__file__).parent / "plugin.py"


class Box:
    """A backend that declares everything and can do nothing: declarations are all that `check` may ask for."""

    name = "declared"

    def capabilities(self) -> frozenset[str]:
        words = "exec image net.none net.full cpu memory time history.sever isolation.fresh gpu snapshot fork"
        return frozenset(words.split())


class Boxes:
    @assay.hookimpl
    def assay_sandboxes(self) -> list[object]:
        return [Box()]


@pytest.fixture(scope="session")
def registry() -> Registry:
    spec = importlib.util.spec_from_file_location("dsl_test_plugin", _PLUGIN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["dsl_test_plugin"] = module
    spec.loader.exec_module(module)
    registry = Registry()
    registry.add(module, "assay-test", "1.0.0")
    registry.add(Boxes(), "assay-boxes", "1.0.0")
    assert registry.failures == []
    return registry


HEAD = """assay: 1
domain: test.case
version: 1
summary: A case.
"""


@pytest.fixture(scope="session")
def compile_text(registry: Registry) -> Callable[[str], Compiled]:
    def run(text: str) -> Compiled:
        return compile_bytes(text.encode(), registry, "case.yaml", Path("."))

    return run


def domain(reward: str, *, fields: str = "q: str", verify: str = "m: test.measure()", more: str = "") -> str:
    """Return a domain file; `reward`, `fields` and `verify` are blocks without indentation."""

    def block(text: str) -> str:
        return "\n".join(f"  {line}" for line in text.strip("\n").split("\n"))

    rows = "\n".join(f"      {line.split(':')[0].strip()}: {_value(line)}" for line in fields.strip().split("\n"))
    return (
        f"{HEAD}fields:\n{block(fields)}\ndata:\n  train:\n    -\n{rows}\nprompt: 'Say {{q}}'\n"
        f"verify:\n{block(verify)}\nreward:\n{block(reward)}\n{more}"
    )


def _value(line: str) -> str:
    kind = line.split(":", 1)[1].strip()
    return {"int": "1", "float": "1.0", "bool": "true", "str": "text"}.get(kind.partition("[")[0], "[]")


def codes(compiled: Compiled) -> list[str]:
    """Return the codes of all findings, in order."""
    return [item.code for item in compiled.findings]
