"""`json.equal(expected)`: the same JSON value, whatever its spacing and order of keys."""

from typing import Annotated, Any

from assay.core.leaf import verifier
from assay.core.signal import Signals, signal
from assay.runtime.parser.json import read_json, same


class JsonMatch(Signals, frozen=True):
    """What a comparison of JSON values says."""

    equal: Annotated[bool, signal(better="up", doc="The answer is the expected value.")]
    parsed: Annotated[bool, signal(better="up", doc="The answer is JSON.")]


@verifier("json.equal", version=1, cost="1ms")
def json_equal(answer: str | None, expected: Any) -> JsonMatch:
    """Compare values: 1 is 1.0, true is not 1; a text as `expected` is read as JSON."""
    target = read_json(expected) if isinstance(expected, str) else expected
    try:
        value = read_json(answer or "")
    except ValueError:
        return JsonMatch(equal=False, parsed=False)
    return JsonMatch(equal=same(value, target), parsed=True)
