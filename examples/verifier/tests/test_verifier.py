"""The verifier keeps the contract of verifiers."""

from assay_example_verifier.citation import check

from assay.testing import Case, VerifierContract

PASSAGES = {"passages": ["Rome fell in 476.", "Theodoric ruled from 493."]}

TestCheck = VerifierContract.of(
    check,
    cases=[
        Case("It fell in 476 [1].", PASSAGES, {"cited": 1, "invented": 0, "coverage": 0.5}),
        Case("[1] and [2], as [1] says", PASSAGES, {"cited": 2, "invented": 0, "coverage": 1.0}),
        Case("See [3] and [17].", PASSAGES, {"cited": 0, "invented": 2}),
        Case("[0], [01], [-1], [1", PASSAGES, {"cited": 0, "invented": 0}),
        Case(None, PASSAGES, {"cited": 0}, name="the parser refused"),
        Case("[1]", {"passages": []}, {"invented": 1, "coverage": 0.0}),
    ],
)
