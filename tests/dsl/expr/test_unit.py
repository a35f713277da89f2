"""Units: what may be added, compared and paid."""

import pytest

from assay.core.kind import Kind
from assay.core.signal import SignalSpec
from assay.dsl.expr.check import check_expression
from assay.dsl.expr.function import BUILTIN
from assay.dsl.expr.parse import parse_expression
from assay.dsl.expr.scope import TRACE, Scope

SCOPE = Scope(
    fields={"weight": Kind("float", 0.0, 2.0), "names": Kind("list", item=Kind("str"))},
    params={"k": 0.5},
    signals={
        "t": {
            "failed": SignalSpec("failed", Kind("int", 0.0), "tests"),
            "passed": SignalSpec("passed", Kind("int", 0.0), "tests"),
            "rate": SignalSpec("rate", Kind("float", 0.0, 1.0)),
            "wall": SignalSpec("wall", Kind("float", 0.0), "s"),
            "ok": SignalSpec("ok", Kind("bool")),
        },
        "trace": TRACE,
    },
)


def faults(text: str) -> list[tuple[str, str]]:
    node, _ = parse_expression(text)
    assert node is not None
    _, found = check_expression(node, SCOPE, BUILTIN, "number")
    return [(fault.code, text[fault.node.start : fault.node.end]) for fault in found]


@pytest.mark.parametrize(
    "text",
    [
        "2.0*t.rate - 0.2*trace.invalid_calls",
        "1.0*(trace.tokens > 2*trace.prompt_tokens)",
        "1.0*(t.failed > 3)",
        "t.failed/(t.failed + t.passed)",
        "t.rate/(min(t.failed, 5)/5)",
        "-0.01*min(trace.turns, 40)",
        "budget(trace.tokens, 4096)",
        "budget(trace.tokens, k)",
        "weight*t.rate",
        "t.failed*weight",
        "t.failed/len(names)",
        "k*t.wall + k*t.failed",
        "log1p(t.wall)",
        "1/(1 + t.failed)",
        "(t.failed if t.ok else t.passed)*0.1",
        "0.1*max(t.failed, t.passed, 3)",
        "t.ok + t.ok",
        "t.ok*0.3",
        "t.wall*t.failed*0.1/(t.wall*1.0)",
    ],
)
def test_meant_units_are_accepted(text: str) -> None:
    assert faults(text) == []


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("trace.tokens + trace.turns", "trace.tokens + trace.turns"),
        ("0.1*(trace.tokens + trace.turns)", "trace.tokens + trace.turns"),
        ("min(t.failed, t.wall)", "min(t.failed, t.wall)"),
        ("t.failed", "t.failed"),
        ("-t.failed", "-t.failed"),
        ("t.failed*t.wall", "t.failed*t.wall"),
        ("t.failed/t.wall", "t.failed/t.wall"),
        ("1.0*(t.failed > t.wall)", "t.failed > t.wall"),
        ("0.1*t.failed if t.ok else t.wall", "0.1*t.failed if t.ok else t.wall"),
        ("clip(t.failed, 0, 5)", "clip(t.failed, 0, 5)"),
        ("t.rate + t.failed", "t.rate + t.failed"),
        ("budget(t.failed, t.wall)", "budget(t.failed, t.wall)"),
        ("t.failed*(t.wall + t.rate)", "t.wall + t.rate"),
    ],
)
def test_units_that_differ_are_refused_at_the_smallest_expression(text: str, where: str) -> None:
    assert faults(text) == [("RX004", where)]
