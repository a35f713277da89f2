"""Hand-written cases: what must score 1 and what must score 0."""

from typing import Any

import pytest

from assay_domain_reasoning_gym.recipe import QUICKSTART, RECIPES

# Domain, question, expected, further right answers, wrong answers.
GOLDEN: list[tuple[str, str, str, tuple[str, ...], tuple[str, ...]]] = [
    ("quickstart.spell", "hart", "trah", ("trah ",), ("hart", "tarh", "trahh", "tra", "TRAH", "trah trah")),
    ("quickstart.caesar", "1 jbnb", "iama", (), ("jbnb", "ibnb", "iam", "iama.")),
    ("quickstart.spiral", "0162", "0126", (), ("0162", "0612", "126", "0 1 2 6")),
    ("quickstart.sort", "down 967", "976", (), ("967", "697", "679")),
    ("reasoning_gym.spell_backward", "lemon", "nomel", ("It is\nnomel",), ("lemon", "nomel lemon", "nome1")),
    ("reasoning_gym.caesar_cipher", "1: JU JT", "IT IS", ("IT  IS",), ("it is", "JU JT", "ITIS")),
    ("reasoning_gym.word_sequence_reversal", "of do it", "it do of", (), ("of do it", "it, do, of")),
    ("reasoning_gym.word_sorting", "ascending: b A a", "A a b", (), ("a A b", "b a A", "A a b b")),
    ("reasoning_gym.letter_counting", "h in The other hat", "3", ("3\n", "so\n3"), ("2", "three", "33")),
    (
        "reasoning_gym.palindrome_generation",
        "a b b a",
        "abba",
        ("baab",),
        ("abab", "aa", "abbba", "abcba", "cddc", "aaaa"),
    ),
    (
        "reasoning_gym.group_anagrams",
        "cat dog act god",
        "act cat / dog god",
        (),
        ("cat act / dog god", "act cat dog god", "dog god / act cat"),
    ),
    ("reasoning_gym.string_insertion", "AABCDE", "AABCDAE", (), ("AABCDE", "AABCDEB", "AABCDAEB")),
    ("reasoning_gym.number_filtering", "keep larger than 2: 1 3 5", "3 5", (), ("1", "3, 5", "5 3", "none")),
    ("reasoning_gym.number_sorting", "ascending: 2.0 -1.5", "-1.5 2.0", (), ("2.0 -1.5", "-1.5 2", "-1.4 2.9", "-1.5")),
    ("reasoning_gym.binary_alternation", "0011", "1", (), ("2", "-1", "0101")),
    ("reasoning_gym.gcd", "12 18", "6", ("6.0", "+6", "12/2"), ("1", "3", "6 6", "six", "-6")),
    ("reasoning_gym.lcm", "4 6", "12", ("012",), ("24", "2", "12!")),
    ("reasoning_gym.chain_sum", "2 - 5", "-3", ("-3.00",), ("3", "--3", "2-5", "- 3")),
    ("reasoning_gym.decimal_chain_sum", "0.1 + 0.2", "0.3", ("0.30", "3/10"), ("0.30000000000000004", "0,3", ".3")),
    ("reasoning_gym.products", "12 * 12", "144", (), ("12*12", "1e2", "143")),
    ("reasoning_gym.basic_arithmetic", "( 2 + 3 ) * 4", "20", (), ("14", "(2+3)*4")),
    ("reasoning_gym.bitwise_arithmetic", "(0x1 - 0x4)", "-0x3", (), ("0x3", "-3", "-0X3")),
    ("reasoning_gym.base_conversion", "ff from base 16 to base 10", "255", (), ("0xff", "256", "11111111")),
    ("reasoning_gym.count_bits", "7", "3", (), ("111", "2")),
    ("reasoning_gym.count_primes", "1 to 10", "4", (), ("5", "2 3 5 7")),
    ("reasoning_gym.prime_factorization", "12", "2 2 3", (), ("2 3", "3 2 2", "2*2*3", "12")),
    ("reasoning_gym.fraction_simplification", "6/8", "3/4", (), ("6/8", "0.75", "4/3")),
    ("reasoning_gym.dice", "1d2, 1d2 sum to 3 or more", "3/4", ("6/8", "0.75"), ("1/4", "75%", "3/0")),
    ("reasoning_gym.coin_flip", "exactly 1 heads in 2 flips", "2/4", ("1/2", "0.5"), ("1/4", "50%")),
    ("reasoning_gym.leg_counting", "2 dog, 1 bird", "10", (), ("8", "3")),
    ("reasoning_gym.simple_equations", "x in 2*x + 1 = 7", "3", (), ("x = 3", "4")),
    ("reasoning_gym.spiral_matrix", "1 2 / 3 4", "1 2 4 3", (), ("1 2 3 4", "1243", "[1, 2, 4, 3]")),
    ("reasoning_gym.rotate_matrix", "90 degrees: 1 2 / 3 4", "3 1 / 4 2", (), ("2 4 / 1 3", "1 2 / 3 4", "3 1 4 2")),
    ("reasoning_gym.binary_matrix", "0 1 / 1 1", "0 1 / 1 2", (), ("0 1 / 1 1", "0 1 1 2")),
    ("reasoning_gym.largest_island", "1 1 / 0 1", "3", (), ("2", "4")),
    ("reasoning_gym.rotten_oranges", "2 1 1", "2", (), ("1", "-1", "3")),
    ("reasoning_gym.maze", "S.G", "2", (), ("1", "3")),
]


@pytest.mark.parametrize(("name", "question", "expected", "right", "wrong"), GOLDEN, ids=[case[0] for case in GOLDEN])
def test_right_answers_score_and_wrong_ones_do_not(
    name: str,
    question: str,
    expected: str,
    right: tuple[str, ...],
    wrong: tuple[str, ...],
    all_domains: Any,
    grade: Any,
) -> None:
    row = {"question": question, "expected": expected}

    for answer in (expected, *right):
        assert grade(all_domains[name], row, answer), answer
    for answer in (*wrong, ""):
        assert not grade(all_domains[name], row, answer), answer


def test_every_domain_has_golden_cases() -> None:
    names = {f"quickstart.{name}" for name in QUICKSTART} | {f"reasoning_gym.{name}" for name in RECIPES}

    assert names == {case[0] for case in GOLDEN}
