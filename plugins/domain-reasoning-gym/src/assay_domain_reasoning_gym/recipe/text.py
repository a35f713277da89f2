"""Domains over words and letters."""

from assay_domain_reasoning_gym.recipe.base import Entry, Recipe, Task, plain


def _spell_backward(entry: Entry, index: int) -> Task | None:
    word = entry["metadata"]["word"].lower()
    return None if word == word[::-1] else plain(word, word[::-1])


def _caesar_cipher(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    question = f"{metadata['rotation']}: {metadata['cipher_text']}"
    return plain(question, metadata["clear_text"], key=metadata["clear_text"])


def _word_sequence_reversal(entry: Entry, index: int) -> Task:
    words = entry["metadata"]["words"]
    return plain(" ".join(words), " ".join(reversed(words)), key=" ".join(sorted(words)))


def _word_sorting(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    words = metadata["transformed_words"]
    question = f"{metadata['direction']}: {' '.join(words)}"
    return plain(question, " ".join(metadata["sorted_words"]), key=" ".join(sorted(words)))


def _letter_counting(entry: Entry, index: int) -> Task | None:
    """Drop single letters: seven answers in ten would be 1."""
    metadata = entry["metadata"]
    text = " ".join(metadata["span"])
    if int(entry["answer"]) < 2:
        return None
    return plain(f"{metadata['target_letter']} in {text}", entry["answer"], key=text)


def _palindrome_generation(entry: Entry, index: int) -> Task:
    letters = entry["metadata"]["letters"]
    return plain(" ".join(letters), entry["answer"], key="".join(sorted(letters)))


def _group_anagrams(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    groups = sorted(sorted(group) for group in metadata["solution"])
    words = metadata["words"]
    expected = " / ".join(" ".join(group) for group in groups)
    return plain(" ".join(words), expected, key=" ".join(sorted(words)))


def _string_insertion(entry: Entry, index: int) -> Task | None:
    """Drop texts that stay as they are: four in five would."""
    metadata = entry["metadata"]
    if metadata["string"] == metadata["solution"]:
        return None
    return plain(metadata["string"], metadata["solution"])


def _number_filtering(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    verb, _, relation = metadata["operation"].partition("_")
    numbers = " ".join(metadata["original_numbers"])
    question = f"{verb} {relation} than {metadata['filter_value']}: {numbers}"
    return plain(question, " ".join(metadata["result"]) or "none", key=numbers)


def _number_sorting(entry: Entry, index: int) -> Task:
    """Compare as texts: the generator's own scorer accepts numbers that are wrong by up to 1."""
    metadata = entry["metadata"]
    numbers = metadata["original_numbers"]
    question = f"{metadata['direction']}: {' '.join(numbers)}"
    return plain(question, " ".join(metadata["sorted_numbers"]), key=" ".join(sorted(numbers)))


def _binary_alternation(entry: Entry, index: int) -> Task:
    return plain(entry["metadata"]["string"], entry["answer"])


RECIPES = (
    Recipe(
        "spell_backward",
        "spell_backward",
        _spell_backward,
        "Spell backward: {question}",
        "Spell a word backward.",
        {"min_word_len": 3, "max_word_len": 8},
    ),
    Recipe(
        "caesar_cipher",
        "caesar_cipher",
        _caesar_cipher,
        "Decode, each letter was shifted forward by {question}",
        "Decode a Caesar cipher whose shift is given.",
        {"max_words": 8},
    ),
    Recipe(
        "word_sequence_reversal",
        "word_sequence_reversal",
        _word_sequence_reversal,
        "Reverse the order of the words: {question}",
        "Reverse a list of words.",
    ),
    Recipe(
        "word_sorting",
        "word_sorting",
        _word_sorting,
        "Sort in ASCII order, {question}",
        "Sort words in ASCII order, up or down.",
        {"max_words": 6},
    ),
    Recipe(
        "letter_counting",
        "letter_counting",
        _letter_counting,
        "Count the letter, capital or not: {question}",
        "Count a letter in a text.",
    ),
    Recipe(
        "palindrome_generation",
        "palindrome_generation",
        _palindrome_generation,
        "Make a palindrome of all these letters: {question}",
        "Arrange letters so that they read the same both ways.",
        verify="reasoning_gym.palindrome(question)",
    ),
    Recipe(
        "group_anagrams",
        "group_anagrams",
        _group_anagrams,
        "Group anagrams like `act cat / dog god`, alphabetical inside groups and by first words: {question}",
        "Group words that are anagrams of each other.",
        {"max_anagram_groups": 4, "max_words_per_group": 3},
    ),
    Recipe(
        "string_insertion",
        "string_insertion",
        _string_insertion,
        "Behind each ABCD put A, BCDE B, CDEA C, DEAB D, EABC E, left to right without looking at what was put:"
        " {question}",
        "Insert letters behind given patterns.",
        {"min_string_length": 8, "max_string_length": 30},
    ),
    Recipe(
        "number_filtering",
        "number_filtering",
        _number_filtering,
        "Write the numbers that stay, or none: {question}",
        "Keep or remove numbers beyond a bound.",
        {"max_numbers": 6, "max_decimals": 2},
    ),
    Recipe(
        "number_sorting",
        "number_sorting",
        _number_sorting,
        "Sort the numbers as they are written, {question}",
        "Sort numbers, up or down.",
        {"max_numbers": 6, "max_decimals": 1},
    ),
    Recipe(
        "binary_alternation",
        "binary_alternation",
        _binary_alternation,
        "Fewest swaps of any two bits that make the bits alternate, or -1: {question}",
        "Count the swaps that make a bit string alternate.",
        {"min_n": 6, "max_n": 16},
    ),
)
