"""The laws: a proved interval holds, a proved direction holds, both back ends agree, printing loses nothing."""

import math
from typing import Any

import numpy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.dsl.expr import strategy as sy

from assay.dsl.expr.check import check_expression
from assay.dsl.expr.emit import Emitter
from assay.dsl.expr.function import BUILTIN
from assay.dsl.expr.infer import infer
from assay.dsl.expr.narrow import narrow
from assay.dsl.expr.node import Expr, Ref, Signal, strip
from assay.dsl.expr.parse import parse_expression
from assay.dsl.expr.scope import key
from assay.dsl.expr.show import show

EXAMPLES = 200


def evaluate(node: Expr, signals: dict[str, Any], fields: dict[str, Any]) -> Any:
    """Return the value by the scalar back end."""
    emitter = Emitter(sy.SCOPE, BUILTIN, "scalar")
    source = emitter.emit(node)
    values = {"m": signals}
    local = {v: values[k.split(".")[0]][k.split(".")[1]] if "." in k else fields[k] for k, v in emitter.names.items()}
    return eval(source, dict(emitter.globals), local)


def evaluate_columns(node: Expr, rows: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[Any]:
    """Return the values by the column back end."""
    emitter = Emitter(sy.SCOPE, BUILTIN, "column")
    source = emitter.emit(node)
    local = {}
    for name, variable in emitter.names.items():
        owner, _, signal = name.partition(".")
        values = [row[0][signal] if signal else row[1][owner] for row in rows]
        kind = sy.SCOPE.kind(Signal(owner=owner, name=signal) if signal else Ref(name=owner))
        assert kind is not None
        if kind.name == "list":
            column = numpy.empty(len(rows), dtype=object)
            column[:] = values
        else:
            column = numpy.asarray(values, dtype=numpy.bool_ if kind.name == "bool" else numpy.float64)
        local[variable] = column
    with numpy.errstate(all="ignore"):
        result = eval(source, dict(emitter.globals), local)
    return numpy.broadcast_to(numpy.asarray(result, dtype=numpy.float64), (len(rows),)).tolist()


def proved(node: Expr) -> Any:
    """Return the facts of an expression, or give the example up where it is refused."""
    typed, _ = check_expression(node, sy.SCOPE, BUILTIN, "any")
    assert typed is not None
    fact = infer(node, sy.SCOPE, BUILTIN)
    assume(not fact.faults)
    return fact


@settings(max_examples=EXAMPLES)
@given(sy.numbers(), sy.signals, sy.fields)
def test_value_lies_in_its_proved_interval(node: Expr, signals: dict[str, Any], fields: dict[str, Any]) -> None:
    interval = proved(node).interval
    value = float(evaluate(node, signals, fields))
    if math.isnan(value):
        assert not interval.is_finite
    else:
        assert interval.lo <= value <= interval.hi


@settings(max_examples=EXAMPLES)
@given(sy.bools(3), sy.signals, sy.fields)
def test_truth_of_a_condition_lies_in_its_proved_interval(
    node: Expr, signals: dict[str, Any], fields: dict[str, Any]
) -> None:
    interval = proved(node).interval
    assert interval.lo <= float(evaluate(node, signals, fields)) <= interval.hi


@settings(max_examples=EXAMPLES)
@given(sy.bools(3), sy.signals, sy.fields, st.booleans())
def test_narrowing_keeps_every_value_that_is_possible(
    node: Expr, signals: dict[str, Any], fields: dict[str, Any], holds: bool
) -> None:
    proved(node)
    assume(bool(evaluate(node, signals, fields)) == holds)
    known = narrow(node, {}, sy.SCOPE, holds=holds)
    assert known is not None
    for name, interval in known.items():
        owner, _, signal = name.partition(".")
        value = float(signals[signal] if signal else fields[owner])
        assert interval.lo <= value <= interval.hi
        assert not (interval.is_nonzero and value == 0)


@settings(max_examples=EXAMPLES)
@given(st.one_of(sy.numbers(), sy.bools(3)), sy.signals, sy.fields, st.data())
def test_proved_direction_is_never_contradicted(
    node: Expr, signals: dict[str, Any], fields: dict[str, Any], data: st.DataObject
) -> None:
    signs = proved(node).signs
    names = sorted(name for name, sign in signs.items() if name.startswith("m.") and sign in "+-")
    assume(names)
    name = data.draw(st.sampled_from(names)).removeprefix("m.")
    kind = sy.SIGNALS["m"][name].kind
    if kind.name == "list":
        return
    other = data.draw(sy._value(kind))
    low, high = sorted([signals[name], other])
    before = float(evaluate(node, {**signals, name: low}, fields))
    after = float(evaluate(node, {**signals, name: high}, fields))
    assume(math.isfinite(before) and math.isfinite(after))
    # Rounding of a quotient or of exp may move the last bits of equal values.
    slack = 1e-9 * max(1.0, abs(before), abs(after))
    if signs[f"m.{name}"] == "+":
        assert after >= before - slack
    else:
        assert after <= before + slack


@settings(max_examples=EXAMPLES)
@given(st.one_of(sy.numbers(), sy.bools(3)), sy.signals, sy.fields, st.data())
def test_names_without_a_sign_change_nothing(
    node: Expr, signals: dict[str, Any], fields: dict[str, Any], data: st.DataObject
) -> None:
    signs = proved(node).signs
    silent = sorted(name for name in sy.SIGNALS["m"] if f"m.{name}" not in signs)
    assume(silent)
    name = data.draw(st.sampled_from(silent))
    other = data.draw(sy._value(sy.SIGNALS["m"][name].kind))
    before, after = evaluate(node, signals, fields), evaluate(node, {**signals, name: other}, fields)
    assert before == after or (math.isnan(before) and math.isnan(after))


@settings(max_examples=EXAMPLES)
@given(st.one_of(sy.numbers(), sy.bools(3)), st.lists(st.tuples(sy.signals, sy.fields), min_size=1, max_size=5))
def test_scalar_and_column_agree(node: Expr, rows: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    proved(node)
    scalar = [float(evaluate(node, *row)) for row in rows]
    column = evaluate_columns(node, rows)
    for one, other in zip(scalar, column, strict=True):
        assert one == other or (math.isnan(one) and math.isnan(other))


@settings(max_examples=EXAMPLES)
@given(st.one_of(sy.numbers(), sy.bools(3)))
def test_printing_and_parsing_gives_the_same_node(node: Expr) -> None:
    parsed, faults = parse_expression(show(node))
    assert faults == ()
    assert parsed is not None
    assert show(strip(parsed)) == show(node)
    assert normal(strip(parsed)) == normal(node)


def normal(node: Expr) -> Expr:
    """Read the printed form again: negative literals and nested logic have more than one node."""
    parsed, _ = parse_expression(show(node))
    assert parsed is not None
    return strip(parsed)


def test_every_name_of_the_strategy_is_known() -> None:
    for owner, specs in sy.SIGNALS.items():
        for name in specs:
            assert sy.SCOPE.kind(Signal(owner=owner, name=name)) is not None
            assert key(Signal(owner=owner, name=name)) == f"{owner}.{name}"
