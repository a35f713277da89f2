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
    (
        "reasoning_gym.countdown",
        "1 5 5 5: 24",
        "5*(5 - 1/5)",
        ("(5-1/5)*5", "-5*(1/5-5)", "- ( ( 1/5 ) - 5 ) * 5", "5*-(1/5 - 5)", "5*(-1/5+5)"),
        (
            "24",
            "5*5 - 1",
            "5*(5 - 1/5) + 5 - 5",
            "25 - 1/5*5",
            "5*(5 - 1//5)",
            "5*(5 - 1/5",
            "5*(5 - 1/5))",
            "5(5 - 1/5)",
            "5*(5 - 0.2)",
            "5*(5 - 1/05)",
            "5**1*5 - 1*5",
            "5*(5 - 1/5) = 24",
            "1/(5-5)*5",
            "5*(5 - 1 /5" + ")" * 90,
        ),
    ),
    (
        "reasoning_gym.simple_integration",
        "-45*X**8 + X/2 + 12",
        "-5*X**9 + X**2/4 + 12*X + C",
        (
            "-5*X**9+1/4*X**2+12*X",
            "12*X - 5*X**9 + X**2/4 - 7",
            "X**2/8 + X**2/8 - 5*X**9 + 12*X + 3/2",
            "-5*X**9 + 2*X**2/8 + 12*X**1",
        ),
        (
            "-5*x**9 + x**2/4 + 12*x + C",
            "-45*X**8 + X/2 + 12",
            "-5X**9 + X**2/4 + 12X",
            "-5*X^9 + X**2/4 + 12*X",
            "-5*X**9 + X**2/4 + 12*X + D",
            "-5*X**9 + X**2/4 + 1 2*X",
            "-5*X**9 + X**2/4 + 12*X + C + C",
            "-5*X**9 + X**2/4/0 + 12*X",
            "-5*X**9 + (X**2)/4 + 12*X",
            "-5*X* *9 + X**2/4 + 12*X",
            "C",
        ),
    ),
    (
        "reasoning_gym.power_function",
        "-731.2715 to the power -1",
        "-1.37e-3",
        (),
        ("-0.00137", "-1.37e-03", "1.37e-3", "-1.367e-3", "-13.7e-4", "-1.37E-3"),
    ),
    ("reasoning_gym.simple_geometry", "93 45", "42", ("42.0",), ("138", "42 degrees", "-42")),
    (
        "reasoning_gym.graph_color",
        "3 vertices, colours 1 to 3; 0-1 1-2",
        "1 2 1",
        ("1 2 3", "3 1 3", "2 1  2"),
        ("1 1 2", "1 2 2", "1 2", "1 2 1 1", "1 2 4", "1 2 0", "1, 2, 1", "1 02 1"),
    ),
    ("reasoning_gym.game_of_life_halting", "1 steps: 100/000/000", "yes", (), ("no", "Yes", "True")),
    ("reasoning_gym.time_intervals", "HH:MM from 23:05 to 23:59", "00:54", (), ("54", "0:54", "00:54:00", "00:53")),
    ("reasoning_gym.spiral_matrix", "1 2 / 3 4", "1 2 4 3", (), ("1 2 3 4", "1243", "[1, 2, 4, 3]")),
    ("reasoning_gym.rotate_matrix", "90 degrees: 1 2 / 3 4", "3 1 / 4 2", (), ("2 4 / 1 3", "1 2 / 3 4", "3 1 4 2")),
    ("reasoning_gym.binary_matrix", "0 1 / 1 1", "0 1 / 1 2", (), ("0 1 / 1 1", "0 1 1 2")),
    ("reasoning_gym.largest_island", "1 1 / 0 1", "3", (), ("2", "4")),
    ("reasoning_gym.rotten_oranges", "2 1 1", "2", (), ("1", "-1", "3")),
    ("reasoning_gym.maze", "S.G", "2", (), ("1", "3")),
    ("reasoning_gym.complex_arithmetic", "(1 + 2i) * (3 - 1i)", "5 + 5i", ("5  +  5i",), ("5+5i", "5i + 5", "5 + 5j")),
    (
        "reasoning_gym.number_format",
        "smallest of 2,000.5 1.9995e+03",
        "1999.5",
        ("1999.50", "+1999.5"),
        ("1.9995e+03", "1,999.5", "1999.49", "2000.5"),
    ),
    ("reasoning_gym.game_of_life", "1: 0 1 0 / 0 1 0 / 0 1 0", "1 1 1 / 1 1 1 / 1 1 1", (), ("0 0 0 / 1 1 1 / 0 0 0",)),
    ("reasoning_gym.manipulate_matrix", "transpose: 1 2 / 3 4", "1 3 / 2 4", (), ("1 2 / 3 4", "1 3 2 4", "1 3\n2 4")),
    ("reasoning_gym.pool_matrix", "average of 2 x 2: 1 2 / 3 4", "2.5", (), ("2.50", "10/4", "4")),
    ("reasoning_gym.ab", "A# #B", "#B A#", (), ("A# #B", "#BA#", "")),
    ("reasoning_gym.bf", "++++++++[>++++++++<-]>+.", "A", (), ("a", "65", "AA")),
    ("reasoning_gym.circuit_logic", "(A&B)+(A') with A=0, B=1", "1", (), ("0", "True", "01")),
    ("reasoning_gym.emoji_mystery", "😀󠅘󠅙", "hi", (), ("Hi", "h i", "😀hi")),
    ("reasoning_gym.string_manipulation", "aab. (1) ...", "ab", (), ("aab", "a b", "AB")),
    ("reasoning_gym.string_splitting", "A=1 B=0 C=0", "0 0 0 1 0 1", (), ("0 0 0 2 1 0", "000101")),
    ("reasoning_gym.string_synthesis", "A=1 B=1 C=0", "0 0 0 0 0 1 0 0 0", (), ("1 1 0 0 0 0 0 0 0",)),
    ("reasoning_gym.calendar_arithmetic", "weekday of 2022-10-28", "Friday", (), ("friday", "Fri", "Saturday")),
    ("reasoning_gym.color_cube_rotation", "top blue, ...; back; left?", "indigo", (), ("blue", "Indigo")),
    ("reasoning_gym.course_schedule", "0 needs 1, 1 needs 0", "no", (), ("yes", "No", "False")),
    (
        "reasoning_gym.knights_knaves",
        "A: B is a knave. B: A is a knave and B is a knight.",
        "knave knight",
        (),
        ("knight knave", "knave, knight", "B"),
    ),
    (
        "reasoning_gym.needle_haystack",
        "Ann likes tea. Bob hates tea. Who hates tea?",
        "Bob",
        (),
        ("Ann", "bob", "Bob."),
    ),
    (
        "reasoning_gym.mini_sudoku",
        "1 _ _ _ / _ _ 1 _ / _ 1 _ _ / _ _ _ 1",
        "1 2 3 4 / 3 4 1 2 / 4 1 2 3 / 2 3 4 1",
        ("1 3 2 4 / 2 4 1 3 / 4 1 3 2 / 3 2 4 1",),
        (
            "2 1 4 3 / 4 3 2 1 / 1 2 3 4 / 3 4 1 2",  # changes a given cell
            "1 2 3 4 / 2 3 1 4 / 3 1 4 2 / 4 2 3 1",  # no Latin square
            "1 2 3 4 / 3 4 1 2 / 4 1 2 3",
            "1 2 3 4 / 3 4 1 2 / 4 1 2 3 / 2 3 4 01",
            "1 2 3 4 3 4 1 2 4 1 2 3 2 3 4 1",
        ),
    ),
    (
        "reasoning_gym.mini_sudoku",
        "_ _ _ _ / _ _ _ _ / _ _ _ _ / _ _ _ _",
        "1 2 3 4 / 3 4 1 2 / 2 1 4 3 / 4 3 2 1",
        (),
        ("1 2 3 4 / 2 3 4 1 / 3 4 1 2 / 4 1 2 3",),  # right but for the blocks
    ),
    (
        "reasoning_gym.sudoku",
        "_ 3 4 6 7 8 9 1 2 / 6 7 2 1 9 5 3 4 8 / 1 9 8 3 4 2 5 6 7 / 8 5 9 7 6 1 4 2 3 / 4 2 6 8 5 3 7 9 1"
        " / 7 1 3 9 2 4 8 5 6 / 9 6 1 5 3 7 2 8 4 / 2 8 7 4 1 9 6 3 5 / 3 4 5 2 8 6 1 7 _",
        "5 3 4 6 7 8 9 1 2 / 6 7 2 1 9 5 3 4 8 / 1 9 8 3 4 2 5 6 7 / 8 5 9 7 6 1 4 2 3 / 4 2 6 8 5 3 7 9 1"
        " / 7 1 3 9 2 4 8 5 6 / 9 6 1 5 3 7 2 8 4 / 2 8 7 4 1 9 6 3 5 / 3 4 5 2 8 6 1 7 9",
        (),
        ("5 3 4 6 7 8 9 1 2", " / ".join(["1 2 3 4 5 6 7 8 9"] * 9), "5 9"),
    ),
    (
        "reasoning_gym.futoshiki",
        "_ _ / _ _; 1,1>1,2",
        "2 1 / 1 2",
        (),
        ("1 2 / 2 1", "2 1 / 2 1", "2 0 / 1 2", "2 > 1 / 1 2", "2 1"),
    ),
    (
        "reasoning_gym.kakurasu",
        "rows 3 3, columns 3 3",
        "1 1 / 1 1",
        (),
        ("1 0 / 0 1", "1 1 / 1 0", "3 0 / 0 1", "0 0 / 0 0"),
    ),
    (
        "reasoning_gym.survo",
        "1 2 3: _ _ 3 / _ 4 7 / 4 6 10",
        "1 2 3 / 3 4 7 / 4 6 10",
        (),
        ("2 1 3 / 3 4 7 / 4 6 10", "1 2 3 / 3 4 7 / 4 6 11", "3 0 3 / 1 4 5 / 4 6 10", "0 3 3 / 3 4 7 / 3 7 10"),
    ),
    (
        "reasoning_gym.survo",
        "1 1 3 3: _ _ 4 / _ _ 4 / 4 4 8",
        "1 3 4 / 3 1 4 / 4 4 8",
        ("3 1 4 / 1 3 4 / 4 4 8",),
        ("2 2 4 / 2 2 4 / 4 4 8",),  # other numbers
    ),
    (
        "reasoning_gym.n_queens",
        "_ _ _ _",
        "2 4 1 3",
        ("3 1 4 2",),
        ("1 2 3 4", "2 4 3 1", "3 1 2 4", "2 4 1 1", "2 4 1", "0 4 1 3", "1 3 2 4"),
    ),
    (
        "reasoning_gym.tsumego",
        "O.X/X../.O.",
        "B3",
        (),
        ("B2", "C1", "b3", "D9", "A3", "2,1", "B03"),
    ),
    ("reasoning_gym.tsumego", "OX.X/.X../XOX./....", "A3", ("B1",), ("A1", "D4", "B3")),
    ("reasoning_gym.tsumego", "OO.X/XX../..../OX..", "C4", (), ("A2", "A3", "B2")),
    ("reasoning_gym.cryptarithm", "A + B = C", "A=1,B=2,C=3", ("A=5,B=4,C=9",), ("A=1,B=1,C=2", "A=0,B=2,C=2")),
    ("reasoning_gym.cryptarithm", "AB + C = AD", "A=4,B=1,C=2,D=3", (), ("A=0,B=1,C=2,D=3",)),
    (
        "reasoning_gym.cryptarithm",
        "AB + AB = BC",
        "A=1,B=2,C=4",
        ("B=2,A=1,C=4", "A=1, B=2, C=4", "A=2,B=4,C=8", "A=3,B=7,C=4"),
        ("A=1,B=2,C=3", "A=0,B=0,C=0", "A=1,B=2", "A=1,B=2,C=4,D=5", "A=1,B=2,C=4,A=1", "A:1,B:2,C:4"),
    ),
    (
        "reasoning_gym.palindrome_partitioning",
        "aabb",
        "aa bb",
        (),
        ("a abb", "a a bb", "aabb", "aa b b", "bb aa", "aa b"),
    ),
    ("reasoning_gym.path_star", "1 to 3: 2 3, 1 2, 1 4", "1 2 3", (), ("1 3", "3 2 1", "1 4", "1 2 3 3")),
    (
        "reasoning_gym.shortest_path",
        "S./.G",
        "right down",
        ("down right",),
        (
            "right",
            "right left right down",
            "right right",
            "down down",
            "right down left",
            "Right Down",
            "infeasible",
            "right, down",
        ),
    ),
    ("reasoning_gym.shortest_path", "S#G/...", "down right right up", (), ("right right left right", "right right")),
    ("reasoning_gym.shortest_path", "S#/#G", "infeasible", (), ("right down", "down right", "none")),
    (
        "reasoning_gym.sokoban",
        "++++++/+*@-X+/++++++",
        "RR",
        (),
        ("R", "RRR", "rr", "R R", "L", "RRX"),
    ),
    ("reasoning_gym.sokoban", "+++++++/+*@@-X+/+++++++", "", (), ("R", "RR", "RRR", "RRRRRRRRRR")),
    (
        "reasoning_gym.tower_of_hanoi",
        "2 disks, 3 pegs, from 1 to 3",
        "1>2 1>3 2>3",
        ("1>3 1>2 3>1 2>3 1>3",),
        ("1>3 1>3", "1>3", "1>2 1>3 2>3 3>1 1>3", "1>2 1>4 2>3", "2>3 1>2", "1>2, 1>3, 2>3"),
    ),
    (
        "reasoning_gym.jugs",
        "A:3 B:5, target 4",
        "fill B, pour B>A, empty A, pour B>A, fill B, pour B>A",
        ("fill A, pour A>B, fill A, pour A>B, empty B, pour A>B, fill A, pour A>B",),
        (
            "fill B",
            "fill C",
            "pour A>A",
            "fill B, pour B>A, empty A, pour B>A, fill B, pour B>A, empty A",
            "fill B pour B>A empty A pour B>A fill B pour B>A",
            "fill A, pour A>C",
        ),
    ),
    (
        "reasoning_gym.quantum_lock",
        "0 to 3: A+1 any, B+2 red, C*2 green",
        "B A",
        (),
        ("A A A", "A B", "B B", "B", "B D", "B→A", "C B", "B A A"),
    ),
]


@pytest.mark.parametrize(
    ("name", "question", "expected", "right", "wrong"),
    GOLDEN,
    ids=[f"{case[0]}-{place}" for place, case in enumerate(GOLDEN)],
)
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

    for answer in (expected, *right) if expected else right:
        assert grade(all_domains[name], row, answer), answer
    for answer in (*wrong, ""):
        assert not grade(all_domains[name], row, answer), answer


def test_every_domain_has_golden_cases() -> None:
    names = {f"quickstart.{name}" for name in QUICKSTART} | {f"reasoning_gym.{name}" for name in RECIPES}

    assert names == {case[0] for case in GOLDEN}
