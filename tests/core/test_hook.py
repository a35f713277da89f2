"""Hooks: each is documented with its signature, called once, and kept apart from the others."""

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import assay
from assay.core import hook
from assay.core.declare import Domain
from assay.core.leaf import Factory
from assay.core.registry import Registry

PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text()


class Box:
    name = "thing"

    def capabilities(self) -> frozenset[str]:
        return frozenset()


class Measured(assay.Signals, frozen=True):
    ok: bool


@assay.verifier("thing", version=1)
def measure(answer: str) -> Measured:
    """Measure."""
    return Measured(ok=bool(answer))


@assay.source("thing", version=1)
def rows() -> list[int]:
    """Give rows."""
    return []


@assay.parser("thing", version=1)
def read(text: str) -> str | None:
    """Read."""
    return text


@assay.tool("thing", version=1)
def act(task: Any) -> str:
    """Act."""
    return str(task)


@assay.function("thing", version=1, direction=["up"])
def same(x: float) -> float:
    """Return x."""
    return x


DOMAIN = Domain(domain="thing", version=1, fields={}, data={"train": [{}]}, prompt="", verify={}, reward={})
VALUES: dict[str, Any] = {
    "verifier": measure,
    "source": rows,
    "parser": read,
    "tool": act,
    "function": same,
    "sandbox": Box(),
    "domain": DOMAIN,
    "config_dir": "thing",
}


@pytest.mark.parametrize("name", hook.NAMED)
def test_hook_is_documented_with_its_exact_signature(name: str) -> None:
    signature = str(inspect.signature(getattr(hook, name)))
    for module in ("collections.abc.", "assay.core.declare.", "assay.core.leaf.", "assay.core.sandbox."):
        signature = signature.replace(module, "")
    kind = hook.NAMED[name]
    contract = "".join(word.title() for word in kind.split("_")) + "Contract"
    links = f"[`{contract}`](testing.md#{kind}), [{kind}](../examples/{kind})"
    assert f"| `def {name}{signature}` | {inspect.getdoc(getattr(hook, name))} | {links} |" in PAGE


@pytest.mark.parametrize("name", hook.NAMED)
def test_what_a_hook_offers_is_found_by_kind_and_name(name: str) -> None:
    kind = hook.NAMED[name]
    value = VALUES.get(kind, Factory("thing", Box))
    calls: list[int] = []

    def implementation() -> list[Any]:
        calls.append(1)
        return [value]

    registry = Registry()
    registry.add(SimpleNamespace(**{name: assay.hookimpl(implementation)}), "dist-a", "1.0")
    assert registry.failures == []
    assert value is registry.find(kind, "thing").value
    assert [1] == calls


@pytest.mark.parametrize("name", hook.NAMED)
def test_a_name_offered_twice_is_found_by_nobody_and_names_both(name: str) -> None:
    kind = hook.NAMED[name]
    value = VALUES.get(kind, Factory("thing", Box))
    registry = Registry()
    for dist in ("dist-a", "dist-b"):
        registry.add(SimpleNamespace(**{name: assay.hookimpl(lambda: [value])}), dist, "1.0")
    with pytest.raises(assay.AssayError, match=r"dist-a 1\.0 and dist-b 1\.0") as caught:
        registry.find(kind, "thing")
    assert "PL001" == caught.value.error_code
    assert 1 == len(registry.clashes())


def test_every_hook_specification_is_named() -> None:
    specified = {name for name in vars(hook) if name.startswith("assay_")}
    assert specified == set(hook.NAMED)
