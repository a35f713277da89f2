"""Whether the language can call a factory as a curriculum would."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from assay.core.kind import Kind
from assay.core.registry import Registry
from assay.core.signal import SignalSpec
from assay.dsl.expr.scope import Scope
from assay.dsl.leaf import bind_call, make_refusal
from assay.dsl.source.loader import load
from assay.dsl.source.mark import Mapping as Tree
from assay.dsl.source.mark import Scalar


def call_text(name: str, signals: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return a call as a curriculum writes it.

    Example:
        >>> call_text("plateau", ["math.pass_rate"], {"patience": 3})
        'plateau(math.pass_rate, patience=3)'
    """
    return f"{name}({', '.join([*signals, *(f'{key}={value!r}' for key, value in options.items())])})"


def refusal_of(kind: str, text: str, signals: Sequence[str], registry: Registry) -> str:
    """Return why `assay check` refuses a call; empty where it takes it.

    Args:
        kind: `sampler` or `stage_rule`.
        text: The call.
        signals: Names of two parts that are known to it.
        registry: What is installed.
    """
    known: dict[str, dict[str, SignalSpec]] = {}
    for name in signals:
        entry, signal = name.split(".", 1)
        known.setdefault(entry, {})[signal] = SignalSpec(signal, Kind("float"))
    tree = load(f"call: {json.dumps(text)}".encode(), "call").tree
    scalar = cast(Scalar, cast(Tree, tree).get("call"))
    bound, findings, _ = bind_call(scalar, kind, registry, Scope(signals=known), "call", fields=False)
    return "; ".join(finding.message for finding in findings) or ("" if bound is None else make_refusal(bound))
