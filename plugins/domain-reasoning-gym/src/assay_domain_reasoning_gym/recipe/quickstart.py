"""The four quickstart domains: tiny prompts, tiny answers, and the wrong habits of their demonstrations.

A task whose main habit is right by chance is dropped: it would teach and measure nothing. Where the second habit is
right by chance, its demonstrations show the main one.
"""

from random import Random

from assay_domain_reasoning_gym.recipe.base import Entry, Recipe, Task

LENGTH = 4
"""Letters of a word, letters of a cipher text, cells of a matrix."""


def habit_task(question: str, expected: str, key: str, main: str, second: str) -> Task | None:
    """Return the task with its habits, or None where the main habit is right."""
    if main == expected:
        return None
    return Task(question, expected, key, (main, main if second == expected else second))


def _spell(entry: Entry, index: int) -> Task | None:
    word: str = entry["metadata"]["word"]
    if not (word.isascii() and word.isalpha() and word.islower()):
        return None
    expected = word[::-1]
    swapped = expected[0] + expected[2] + expected[1] + expected[3]
    return habit_task(word, expected, word, word, swapped)


def _caesar(entry: Entry, index: int) -> Task | None:
    """Take a slice of four letters out of the sentence: nearly no sentence is that short."""
    metadata = entry["metadata"]
    clear, cipher = (
        "".join(letter for letter in metadata[name].lower() if "a" <= letter <= "z")
        for name in ("clear_text", "cipher_text")
    )
    if len(clear) < LENGTH or len(clear) != len(cipher):
        return None
    # A seed of its own: the generator has already drawn the sentence from Random(seed + index).
    start = Random(f"slice {index}").randrange(len(clear) - LENGTH + 1)
    text, code = clear[start : start + LENGTH], cipher[start : start + LENGTH]
    return habit_task(f"{metadata['rotation']} {code}", text, text, code, text[0] + code[1:])


def _spiral(entry: Entry, index: int) -> Task | None:
    (a, b), (c, d) = [[str(cell) for cell in row] for row in entry["metadata"]["matrix"]]
    return habit_task(a + b + c + d, a + b + d + c, a + b + c + d, a + b + c + d, a + c + b + d)


def _sort(entry: Entry, index: int) -> Task | None:
    metadata = entry["metadata"]
    given, expected = (
        "".join(str(int(float(number))) for number in metadata[name]) for name in ("original_numbers", "sorted_numbers")
    )
    direction = "up" if metadata["direction"] == "ascending" else "down"
    swapped = given[1] + given[0] + given[2]
    return habit_task(f"{direction} {given}", expected, "".join(sorted(given)), given, swapped)


RECIPES = (
    Recipe(
        "spell",
        "spell_backward",
        _spell,
        "spell {question}",
        "Spell a word of four letters backward.",
        {"min_word_len": LENGTH, "max_word_len": LENGTH},
        max_tokens=LENGTH + 1,
    ),
    Recipe(
        "caesar",
        "caesar_cipher",
        _caesar,
        "caesar {question}",
        "Shift four letters back by the number in front.",
        {"min_rotation": 1, "max_rotation": 2},
        max_tokens=LENGTH + 1,
    ),
    Recipe(
        "spiral",
        "spiral_matrix",
        _spiral,
        "spiral {question}",
        "Read a 2 x 2 matrix, given row by row, clockwise.",
        {"min_n": 2, "max_n": 2},
        max_tokens=LENGTH + 1,
    ),
    Recipe(
        "sort",
        "number_sorting",
        _sort,
        "sort {question}",
        "Sort three digits up or down.",
        {
            "min_numbers": 3,
            "max_numbers": 3,
            "min_decimals": 0,
            "max_decimals": 0,
            "min_value": 0.0,
            "max_value": 9.0,
        },
        max_tokens=LENGTH + 1,
    ),
)

WORDS = ("spell", "caesar", "spiral", "sort", "up", "down")
"""Words that a policy's tokenizer needs beside `a`-`z` and `0`-`9`."""
