"""The parser keeps the contract of parsers."""

from assay_example_parser.choice import choice

from assay.testing import Case, ParserContract

TestChoice = ParserContract.of(
    choice,
    is_idempotent=True,
    cases=[
        Case("Rome fell first, so the answer is B.", gives="B"),
        Case("**C**", gives="C"),
        Case("(A) seems right, but\n(D)", gives="D"),
        Case(r"Hence \boxed{ A }.", gives="A"),
        Case("B", gives="B"),
        Case("Answer: (E)", gives=None),
        Case("Answer: (E)", {"letters": "ABCDE"}, gives="E"),
        Case("A good question. I do not know.", gives=None),
        Case("", gives=None),
    ],
)
