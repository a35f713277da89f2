"""Leaves and signals: what a decorator reads, and what it refuses at import."""

from typing import Annotated, Any

import pytest

import assay
from assay.core.error import PluginError, VerifierFault
from assay.core.kind import Kind
from assay.core.leaf import OnError
from assay.core.signal import SignalSpec, check_signals, read_signals


class Tests(assay.Signals, frozen=True):
    rate: Annotated[float, assay.signal(ge=0, le=1, better="up")]
    ok: Annotated[bool, assay.signal(better="up")]
    failed: Annotated[int, assay.signal(ge=0, unit="tests", better="down")]


def declare(function: Any, **changed: Any) -> Any:
    return assay.verifier("x.y", version=1, **changed)(function)


def measure(answer: str, names: list[str], limit: int = 3) -> Tests:
    """Measure.

    Further lines are not shown.
    """
    return Tests(rate=1.0, ok=bool(answer), failed=len(names) + limit)


def test_a_verifier_knows_its_parameters_and_signals() -> None:
    verifier = declare(measure, cost="20ms", on_error="retry(2) then fail", timeout="2min")
    assert ["names", "limit"] == [parameter.name for parameter in verifier.bound_parameters]
    assert Kind("list", item=Kind("str")) == verifier.bound_parameters[0].kind
    assert SignalSpec("failed", Kind("int", 0.0), "tests", "down") == verifier.signals["failed"]
    assert (0.02, 120.0, OnError(2, "fail")) == (verifier.cost_s, verifier.timeout_s, verifier.on_error)
    assert "Measure." == verifier.doc
    assert "worker" == verifier.isolation


def test_a_verifier_stays_callable() -> None:
    assert Tests(rate=1.0, ok=True, failed=4) == declare(measure)("a", ["b"])


def test_a_class_of_signals_named_tests_is_no_test_class() -> None:
    assert Tests.__test__ is False


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"cost": "fast"}, "cost must be a duration"),
        ({"timeout": "3"}, "timeout must be a duration"),
        ({"on_error": "retry"}, "on_error"),
        ({"isolation": "fresh"}, "isolation without a sandbox"),
        ({"tier": "robot"}, "tier"),
        ({"price": "cheap"}, "price"),
        ({"on_timeout": Tests(rate=2.0, ok=False, failed=1)}, "rate"),
    ],
)
def test_a_declaration_that_cannot_be_meant_is_refused(changed: dict[str, Any], what: str) -> None:
    with pytest.raises((PluginError, VerifierFault), match=what):
        declare(measure, **changed)


def no_return(answer: str):  # type: ignore[no-untyped-def]
    return answer


def bare_signals(answer: str) -> assay.Signals:
    raise AssertionError(answer)


def star(answer: str, *names: str) -> Tests:
    raise AssertionError(answer, names)


def odd(answer: str, thing: complex) -> Tests:
    raise AssertionError(answer, thing)


@pytest.mark.parametrize("function", [no_return, bare_signals, star, odd])
def test_a_function_that_says_too_little_is_refused(function: Any) -> None:
    with pytest.raises(PluginError):
        declare(function)


class TextRange(assay.Signals, frozen=True):
    name: Annotated[str, assay.signal(ge=0)]


class Mapping(assay.Signals, frozen=True):
    table: dict[str, int]


class Hidden(assay.Signals, frozen=True):
    _hidden: int


class Nothing(assay.Signals, frozen=True):
    pass


@pytest.mark.parametrize("signals", [TextRange, Mapping, Hidden, Nothing])
def test_signals_that_the_language_cannot_hold_are_refused(signals: type[assay.Signals]) -> None:
    with pytest.raises(PluginError):
        read_signals(signals)


@pytest.mark.parametrize(
    "changed",
    [{"ge": float("nan")}, {"ge": 2, "le": 1}, {"unit": "per second"}, {"better": "more"}, {"le": float("inf")}],
)
def test_a_signal_that_cannot_be_meant_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        assay.signal(**changed)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"rate": 1.5}, "rate"),
        ({"rate": float("nan")}, "finite"),
        ({"rate": float("inf")}, "finite"),
        ({"rate": "1"}, "rate"),
        ({"rate": True}, "rate"),
        ({"ok": 1}, "ok"),
        ({"failed": 1.0}, "failed"),
        ({"failed": -1}, "failed"),
        ({"failed": 2**60}, "exactly"),
        ({"ok": None}, "ok"),
    ],
)
def test_a_value_outside_its_declaration_is_the_verifiers_fault(changed: dict[str, Any], what: str) -> None:
    values = Tests(**({"rate": 1.0, "ok": True, "failed": 0} | changed))
    with pytest.raises(VerifierFault, match=what) as caught:
        check_signals(read_signals(Tests), values, "x.y of dist 1.0")
    assert "x.y of dist 1.0" == caught.value.at


def test_another_class_is_the_verifiers_fault() -> None:
    with pytest.raises(VerifierFault, match="Signals"):
        check_signals(read_signals(Tests), {"rate": 1.0}, "x.y")


def test_a_whole_number_is_a_float_where_one_is_declared() -> None:
    checked = check_signals(read_signals(Tests), Tests(rate=1, ok=True, failed=0), "x.y")
    assert isinstance(checked["rate"], float)


def test_a_function_must_say_how_it_moves() -> None:
    with pytest.raises(PluginError, match="direction"):
        assay.function("f", version=1, direction=[])(lambda x: x)
    with pytest.raises(PluginError, match="range"):
        assay.function("f", version=1, direction=["neither"])(lambda x: x)
