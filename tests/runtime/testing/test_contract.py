"""What holds of every kind is seen to break, with whose plugin it is in every message."""

import importlib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import assay
from assay.core.registry import Registry
from assay.testing import Case, Contract, ContractBroken, ParserContract, VerifierContract

CASES = [Case("a", {"expected": "a"}, {"equal": True})]


def test_plugin_that_nobody_offers_is_told_how_to_be_installed(wrong: ModuleType, breaks: Any) -> None:
    contract = VerifierContract.of(wrong.verifier.right, registry=Registry(), cases=CASES)
    said = breaks(contract, "test_it_is_installed_and_its_name_is_its_own")
    assert "got none of that name - at verifier `wrong.none` v1. Return it from the package's hook" in said


def test_package_that_did_not_load_is_the_reason_that_is_given(wrong: ModuleType, breaks: Any) -> None:
    registry = Registry()
    registry.add(SimpleNamespace(assay_verifiers=assay.hookimpl(lambda: 1 / 0)), "assay-broken", "2.0")
    contract = VerifierContract.of(wrong.verifier.right, registry=registry, cases=CASES)
    said = breaks(contract, "test_it_is_installed_and_its_name_is_its_own")
    assert "got assay-broken 2.0 did not load: ZeroDivisionError" in said


def test_name_offered_twice_names_both(wrong: ModuleType, breaks: Any) -> None:
    registry = Registry()
    for dist in ("assay-wrong", "assay-other"):
        registry.add(wrong, dist, "1.0")
    contract = VerifierContract.of(wrong.verifier.right, registry=registry, cases=CASES)
    said = breaks(contract, "test_it_is_installed_and_its_name_is_its_own")
    assert "got assay-wrong 1.0 and assay-other 1.0" in said


def test_leaf_that_lies_inside_a_function_is_found_by_no_worker(
    wrong: ModuleType, registry: Registry, breaks: Any
) -> None:
    contract = VerifierContract.of(wrong.verifier.hidden, registry=registry, cases=CASES)
    said = breaks(contract, "test_a_worker_finds_it_again")
    assert "at verifier `wrong.hidden` v1 of assay-wrong 1.0. Keep it under its function's own name" in said


def test_leaf_whose_name_another_took_is_not_the_one_that_a_worker_finds(
    wrong: ModuleType, registry: Registry, breaks: Any
) -> None:
    contract = VerifierContract.of(wrong.verifier.covered, registry=registry, cases=CASES)
    said = breaks(contract, "test_a_worker_finds_it_again")
    assert "got <verifier wrong.covering v1> at assay-wrong:1.0:assay_wrong.verifier:twin" in said


def test_plugin_without_a_word_of_documentation_is_named(wrong: ModuleType, registry: Registry, breaks: Any) -> None:
    contract = VerifierContract.of(wrong.verifier.undocumented, registry=registry, cases=CASES)
    said = breaks(contract, "test_it_says_what_it_does")
    assert "`wrong.undocumented` v1 of assay-wrong 1.0. Add a docstring" in said


@pytest.mark.slow
def test_package_that_is_heavy_to_declare_is_named_with_what_makes_it_so(site: Path, breaks: Any) -> None:
    heavy = importlib.import_module("assay_heavy")
    registry = Registry()
    registry.add(heavy, "assay-heavy", "1.0")
    contract = ParserContract.of(heavy.heavy, registry=registry, load_s=0.01)
    said = breaks(contract, "test_declaring_it_is_light")
    assert "must load no heavy library, got numpy - at parser `heavy` v1 of assay-heavy 1.0" in said
    light = ParserContract.of(heavy.heavy, registry=registry, load_s=0.01, heavy=frozenset())
    assert "must take at most 0.01 s of processor time, got " in breaks(light, "test_declaring_it_is_light")


def test_package_that_does_not_load_afresh_is_told_of(wrong: ModuleType, breaks: Any) -> None:
    registry = Registry()
    registry.add(wrong, "assay-gone", "1.0")
    contract = VerifierContract.of(wrong.verifier.right, registry=registry, cases=CASES)
    assert "got importlib.metadata.PackageNotFoundError" in breaks(contract, "test_declaring_it_is_light")


def test_attribute_that_a_contract_does_not_have_is_refused(wrong: ModuleType) -> None:
    with pytest.raises(TypeError, match="VerifierContract has no attribute case"):
        VerifierContract.of(wrong.verifier.right, case=CASES)
    with pytest.raises(TypeError, match="must set `verifier`"):
        _ = VerifierContract().plugin


def test_shared_things_are_made_once_and_closed_after_the_last_clause() -> None:
    closed: list[int] = []

    class Probe(Contract):
        kind = "probe"

    made = [Probe().resource("one", lambda: SimpleNamespace(close=lambda: closed.append(1))) for _ in range(2)]
    assert made[0] is made[1]
    Probe.teardown_class()
    assert [1] == closed
    assert made[0] is not Probe().resource("one", SimpleNamespace)


def test_message_has_the_shape_of_every_error_and_its_parts() -> None:
    broken = ContractBroken("a thing must hold", got=3, at="thing `x`", todo="Hold it")
    assert "a thing must hold, got 3 - at thing `x`. Hold it" == str(broken)
    assert ("a thing must hold", "3", "thing `x`", "Hold it") == (broken.must, broken.got, broken.at, broken.todo)
