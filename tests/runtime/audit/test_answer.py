"""Equal answers have equal digests, and no answer has none."""

from assay.runtime.audit.answer import answer_digest


def test_blanks_do_not_matter_and_all_else_does() -> None:
    assert answer_digest("a b") == answer_digest("  a\n b ")
    assert 4 == len({answer_digest(text) for text in ("a b", "ab", "A b", "a b c")})


def test_no_answer_is_0_and_an_empty_one_is_an_answer() -> None:
    assert 0 == answer_digest(None)
    assert 0 < answer_digest("") < 2**63


def test_text_that_no_encoding_knows_has_a_digest() -> None:
    assert answer_digest("\ud800") > 0
