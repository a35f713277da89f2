"""Domains that run a small program, circuit or set of rules."""

import re

from assay_domain_reasoning_gym.answer import normalise
from assay_domain_reasoning_gym.recipe.base import Entry, Recipe, Task, plain

_AB = re.compile(r"following program:\s+([AB# ]+?)\s+Return")
_EMOJI = re.compile(r"from the emoji: (.+)\n\nHere is a hint")


def _ab(entry: Entry, index: int) -> Task | None:
    """Drop programs that stay as they are or come to nothing."""
    match = _AB.search(entry["question"])
    if match is None or not entry["answer"] or entry["answer"] == match[1]:
        return None
    return plain(match[1], entry["answer"])


def _bf(entry: Entry, index: int) -> Task | None:
    metadata = entry["metadata"]
    expected = entry["answer"]
    return plain(metadata["bf_program"], expected, key=expected) if expected == normalise(expected) != "" else None


def _circuit_logic(entry: Entry, index: int) -> Task | None:
    """Drop every other circuit whose answer is 0: six answers in ten would be."""
    if entry["answer"] == "0" and index % 2:
        return None
    metadata = entry["metadata"]
    inputs = ", ".join(f"{name}={value}" for name, value in metadata["assignments"].items())
    return plain(f"{metadata['expression']} with {inputs}", entry["answer"], key=metadata["expression"])


def _emoji_mystery(entry: Entry, index: int) -> Task | None:
    """Drop sentences that a line cannot hold."""
    match = _EMOJI.search(entry["question"])
    expected = entry["answer"]
    return plain(match[1], expected, key=expected) if match is not None and expected == normalise(expected) else None


def _string_manipulation(entry: Entry, index: int) -> Task | None:
    """Drop texts that stay as they are or come to nothing."""
    metadata = entry["metadata"]
    text, solution, rules = metadata["string"], metadata["solution"], metadata["selected_rules"]
    if solution in ("", text):
        return None
    return plain(f"{text}. {' '.join(f'({place}) {rule}' for place, rule in enumerate(rules, 1))}", solution)


def _string_splitting(entry: Entry, index: int) -> Task:
    a, b, c = entry["metadata"]["initial_machines"]
    return plain(f"A={a} B={b} C={c}", entry["answer"])


def _string_synthesis(entry: Entry, index: int) -> Task:
    a, b, c = entry["metadata"]["initial_blocks"]
    return plain(f"A={a} B={b} C={c}", entry["answer"])


RECIPES = (
    Recipe(
        "ab",
        "ab",
        _ab,
        "Rewrite neighbours until none fits, A# #A to nothing, B# #B to nothing, A# #B to #B A#, B# #A to #A B#:"
        " {question}",
        "Run a program of the A::B system.",
        {"length": 8},
    ),
    Recipe("bf", "bf", _bf, "What does this Brainfuck program write? {question}", "Run a Brainfuck program."),
    Recipe(
        "circuit_logic",
        "circuit_logic",
        _circuit_logic,
        "0 or 1? ' is not, & and, + or, ↑ nand and ↓ nor of all inputs, ⊕ xor: {question}",
        "Work out a logic circuit.",
    ),
    Recipe(
        "emoji_mystery",
        "emoji_mystery",
        _emoji_mystery,
        "Variation selectors 1 to 256 hide the bytes 0 to 255 of a text behind an emoji. Write the text: {question}",
        "Read bytes hidden in variation selectors.",
        {"max_words_in_sentence": 10},
    ),
    Recipe(
        "string_manipulation",
        "string_manipulation",
        _string_manipulation,
        "Apply the first rule that fits, from the first again each time, until none fits or the next text was there"
        " before; write the last text, in that case the one before the repetition: {question}",
        "Rewrite a text by rules until it stays.",
        {"max_string_length": 12, "max_num_rules": 4},
    ),
    Recipe(
        "string_splitting",
        "string_splitting",
        _string_splitting,
        "Apply the first rule that fits until none does: A gives 2X+Y, 2B gives X, 2C gives Y, B+C gives A, X+Y gives"
        " Z. Write the counts of A B C X Y Z in the end: {question}",
        "Take machines apart by rules.",
        {"max_initial_machines": 14},
    ),
    Recipe(
        "string_synthesis",
        "string_synthesis",
        _string_synthesis,
        "Apply the first rule that fits until none does: A+B+C gives D, A+B gives F, B+C gives E, 2C gives F, D+F gives"
        " G+H, 2E gives I. Write the counts of A B C D E F G H I in the end: {question}",
        "Put blocks together by rules.",
        {"max_initial_blocks": 14},
    ),
)
