"""The built-in verifiers keep the contract that every package's verifiers must keep."""

import pytest

from assay.runtime.verifier.json import json_equal
from assay.runtime.verifier.number import number_equal
from assay.runtime.verifier.text import text_equal
from assay.testing import Case, VerifierContract

pytestmark = pytest.mark.slow
# All three run in one kind of process, which the first one tries.
SAME_PROCESS = dict.fromkeys(name for name in dir(VerifierContract) if "process" in name or "next_call" in name)

TestText = VerifierContract.of(
    text_equal,
    cases=[
        Case(" a\n", {"expected": "a"}, {"equal": True}),
        Case("A", {"expected": "a", "ignore_case": True}, {"equal": True}),
        Case("a b", {"expected": "a  b"}, {"equal": False}),
        Case(None, {"expected": ""}, {"equal": False}),
    ],
)
TestNumber = VerifierContract.of(
    number_equal,
    cases=[
        Case("1,000.0", {"expected": 1000}, {"equal": True, "parsed": True}),
        Case("101", {"expected": "100", "rel": 0.01}, {"equal": True}),
        Case("about 3", {"expected": 3}, {"equal": False, "parsed": False}),
    ],
    **SAME_PROCESS,
)
TestJson = VerifierContract.of(
    json_equal,
    cases=[
        Case('{"b": 2, "a": 1.0}', {"expected": '{"a": 1, "b": 2}'}, {"equal": True, "parsed": True}),
        Case("[1, 2]", {"expected": [2, 1]}, {"equal": False, "parsed": True}),
        Case("{", {"expected": "1"}, {"equal": False, "parsed": False}),
    ],
    **SAME_PROCESS,
)
