"""The built-in verifiers keep the contract that every package's verifiers must keep."""

import re

import pytest

from assay.core.judge import JudgeReply, JudgeRequest
from assay.runtime.verifier.human import human_mark
from assay.runtime.verifier.json import json_equal
from assay.runtime.verifier.judge import judge_prefer, judge_score
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


class Rule:
    """A judge that likes what speaks of spring, and says so in the form that it is asked for."""

    identity = "rule"

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        said = "\n".join(text for _, text in request.messages)
        form = re.search(r"(?:grade|choice) [0-9a-f]{24} = ", said)
        assert form is not None
        if form[0].startswith("choice"):
            # What is asked about stands in the order of A and B, behind the instructions.
            first, second = (said.rfind(word) for word in ("spring", "winter"))
            return JudgeReply(f"{form[0]}{'tie' if first < 0 else 'A' if first < second else 'B'}")
        return JudgeReply(f"{form[0]}{9 if 'spring' in said else 1}")

    async def close(self) -> None:
        pass


TestMark = VerifierContract.of(
    human_mark,
    cases=[Case(None, {"question": "Is it kind?"}), Case(None, {"question": "How kind?", "low": 1, "high": 5})],
)
RUBRIC = {"model": "rule@1", "rubric": "A season?"}
TestScore = VerifierContract.of(
    judge_score,
    judge=Rule,
    cases=[
        Case("All is spring.", RUBRIC, {"score": 0.9, "agreement": 1.0}),
        Case("All is well.", RUBRIC, {"score": 0.1}),
        Case(None, RUBRIC, {"score": 0.0}),
    ],
)
BESIDE = {"model": "rule@1", "reference": "It is winter.", "criteria": "Warmth."}
TestPrefer = VerifierContract.of(
    judge_prefer,
    judge=Rule,
    cases=[
        Case(
            "All is spring.",
            BESIDE,
            {"preferred": 1.0},
        ),
        Case(None, BESIDE, {"preferred": 0.0}),
    ],
    **SAME_PROCESS,
)
