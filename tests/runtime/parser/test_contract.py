"""The built-in parsers keep the contract that every package's parsers must keep."""

import pytest

from assay.runtime.parser.diff import diff
from assay.runtime.parser.json import json_value
from assay.runtime.parser.text import after, boxed, fenced, last_number, tag
from assay.testing import HOSTILE, Case, ParserContract

pytestmark = pytest.mark.slow
# All run in one kind of process, which the first one tries.
SAME_PROCESS = dict.fromkeys(name for name in dir(ParserContract) if "process" in name or "next_call" in name)
# What each of them looks for, again and again and never to its end: quadratic reading takes minutes at this size.
PIECES = (r"\boxed{", "<answer>", "```\n", "1,", "--- a\n@@ -1 +1 @@\n", "[", "-", "####")
REPEATED = {**HOSTILE, **{f"{piece!r} without end": piece * 20_000 for piece in PIECES}}
PATCH = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"

TestBoxed = ParserContract.of(
    boxed, cases=[Case(r"so \boxed{\frac{1}{2}}.", gives=r"\frac{1}{2}"), Case("none", gives=None)], hostile=REPEATED
)
TestAfter = ParserContract.of(
    after, cases=[Case("why\n#### 42", {"marker": "####"}, "42")], hostile=REPEATED, **SAME_PROCESS
)
TestTag = ParserContract.of(
    tag, cases=[Case("<answer> 7 </answer>", gives="7"), Case("7", gives=None)], hostile=REPEATED, **SAME_PROCESS
)
TestFenced = ParserContract.of(
    fenced, cases=[Case("```\na\n```", gives="a\n"), Case("`a`", gives=None)], hostile=REPEATED, **SAME_PROCESS
)
TestLastNumber = ParserContract.of(
    last_number,
    cases=[Case("1,234.50 USD", gives="1234.50"), Case("none", gives=None)],
    is_idempotent=True,
    hostile=REPEATED,
    **SAME_PROCESS,
)
TestDiff = ParserContract.of(
    diff,
    cases=[Case(f"Here:\n```diff\n{PATCH}```", gives=PATCH), Case("no diff", gives=None)],
    is_idempotent=True,
    hostile=REPEATED,
    **SAME_PROCESS,
)
TestJson = ParserContract.of(
    json_value,
    cases=[
        Case('So:\n```json\n{"a": [1, 2]}\n```', gives='{"a":[1,2]}'),
        Case("3", {"schema": {"type": "string"}}, None),
    ],
    is_idempotent=True,
    hostile=REPEATED,
    **SAME_PROCESS,
)
