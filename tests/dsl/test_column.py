"""Columns and the scalar back end find the same: what suffices, what is paid, and why."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.dsl.column import OPEN, ColumnGrader
from assay.dsl.compile import Compiled
from assay.dsl.expr.node import Ref, Signal
from assay.dsl.reduce import Grader

DOMAIN = """\
assay: 1
domain: test.columns
version: 1
fields: {q: str, weight: "float[0,2]"}
data: {train: [{q: a, weight: 1.0}]}
prompt: "{q}"
verify:
  m: test.measure()
  l: test.lenient()
reward:
  success: m.good and weight > 0.5
  gate:
    - {if: trace.turns < 5, else: -2.0}
    - {if: m.rate > 0.2 or trace.tokens > 9, else: -1.5}
  outcome:
    solved: weight*m.rate
    flags: 0.1*min(count(m.flags), 4)
  process:
    failed: -0.1*min(m.failed, 3)
  efficiency:
    when: l.score > 0.5
    steps: -0.01*min(trace.turns, 10)
"""


@pytest.fixture(scope="module")
def both(compile_text: Callable[[str], Compiled]) -> tuple[Grader, ColumnGrader]:
    program = compile_text(DOMAIN).require()
    return Grader(program), ColumnGrader(program)


_RATE = st.sampled_from([0.0, 0.2, 0.3, 1.0])
_ROW = st.fixed_dictionaries(
    {
        "weight": st.sampled_from([0.0, 0.5, 1.0, 2.0]),
        "trace": st.fixed_dictionaries({"turns": st.integers(0, 9), "tokens": st.integers(0, 20)}),
        "m": st.none()
        | st.fixed_dictionaries(
            {"good": st.booleans(), "rate": _RATE, "failed": st.integers(0, 5), "flags": st.lists(st.booleans())}
        ),
        "l": st.none() | st.fixed_dictionaries({"score": _RATE}),
    }
)


def columns_of(grader: ColumnGrader, rows: list[dict[str, Any]]) -> dict[str, Any]:
    found = {}
    for name in grader.names:
        owner, _, signal = name.partition(".")
        kind = grader.grader.scope.kind(Signal(owner=owner, name=signal) if signal else Ref(name=owner))
        assert kind is not None
        blank: Any = {"bool": False, "list": []}.get(kind.name, numpy.nan)
        values = [row[owner] if not signal else blank if row[owner] is None else row[owner][signal] for row in rows]
        column = numpy.empty(len(rows), dtype=object)
        column[:] = values
        found[name] = column if kind.name == "list" else numpy.asarray(values, "bool" if kind.name == "bool" else "f8")
    return found


@settings(max_examples=150)
@given(st.lists(_ROW, min_size=1, max_size=8))
def test_columns_find_what_the_scalar_back_end_finds(
    both: tuple[Grader, ColumnGrader], rows: list[dict[str, Any]]
) -> None:
    scalar, columnar = both
    columns = columns_of(columnar, rows)
    has = {name: numpy.asarray([row[name] is not None for row in rows]) for name in ("m", "l")}
    enough = columnar.sufficient(columns, has, len(rows))
    payouts = columnar.payouts(columns, len(rows))
    for place, row in enumerate(rows):
        signals = {name: row[name] for name in ("trace", "m", "l") if row[name] is not None}
        assert (not scalar.needs(signals, row)) == enough[place]
        if enough[place]:
            payout = scalar.payout(signals, row)
            gate = payouts.gate[place]
            assert payout.reward == payouts.reward[place]
            assert payout.success == payouts.success[place]
            assert payout.gate == (None if gate == OPEN else gate)
            assert payout.terms == {name: values[place] for name, values in payouts.terms.items()}


def test_what_nobody_measured_poisons_a_reward_that_reads_it(both: tuple[Grader, ColumnGrader]) -> None:
    _, columnar = both
    row = {"weight": 1.0, "trace": {"turns": 1, "tokens": 20}, "m": None, "l": None}
    assert numpy.isnan(columnar.payouts(columns_of(columnar, [row]), 1).reward[0])


def test_verification_that_no_row_has_is_missing_everywhere(both: tuple[Grader, ColumnGrader]) -> None:
    _, columnar = both
    rows = [{"weight": 1.0, "trace": {"turns": turns, "tokens": 0}, "m": None, "l": None} for turns in (9, 1)]
    assert [True, False] == columnar.sufficient(columns_of(columnar, rows), {}, 2).tolist()
