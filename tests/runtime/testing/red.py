"""Wrong factories and the clauses that must turn red for them."""

from types import SimpleNamespace
from typing import Any

import pytest

import assay
from assay.core import hook
from assay.core.leaf import Factory
from assay.core.registry import Registry
from assay.runtime.testing.contract import ContractBroken
from assay.runtime.testing.factory import FactoryContract

_HOOKS = {kind: name for name, kind in hook.NAMED.items()}


def breaks(contract: type[FactoryContract], clause: str, target: Any, **attributes: Any) -> str:
    """Run one clause over a factory that must break it; returns what must hold."""
    one = _contract(contract, target, attributes)
    try:
        with pytest.raises(ContractBroken) as caught:
            getattr(one(), clause)()
    finally:
        one.teardown_class()
    assert f"{contract.kind} `wrong` of assay-wrong 1.0" == caught.value.at
    return caught.value.must


def keeps(contract: type[FactoryContract], clause: str, target: Any, **attributes: Any) -> None:
    """Run one clause over a factory that must keep it."""
    one = _contract(contract, target, attributes)
    try:
        getattr(one(), clause)()
    finally:
        one.teardown_class()


def _contract(contract: type[FactoryContract], target: Any, attributes: dict[str, Any]) -> type[FactoryContract]:
    factory = Factory("wrong", target, "Wrong on purpose.")
    registry = Registry()
    plugin = SimpleNamespace(**{_HOOKS[contract.kind]: assay.hookimpl(lambda: [factory])})
    registry.add(plugin, "assay-wrong", "1.0")
    return contract.of(factory, registry=registry, **attributes)
