"""Domains over numbers."""

from assay_domain_reasoning_gym.recipe.base import Entry, Recipe, Task, plain

NUMBER = "reasoning_gym.number(expected)"


def _numbers(entry: Entry, index: int) -> Task:
    numbers = entry["metadata"]["numbers"]
    return plain(" ".join(map(str, numbers)), entry["answer"], key=sorted(numbers))


def _gcd(entry: Entry, index: int) -> Task | None:
    """Drop coprime numbers: one answer in three would be 1."""
    return None if entry["answer"] == "1" else _numbers(entry, index)


def _expression(entry: Entry, index: int) -> Task:
    return plain(entry["metadata"]["expression"], entry["answer"])


def _bitwise_arithmetic(entry: Entry, index: int) -> Task:
    return plain(entry["metadata"]["problem"], entry["answer"])


def _base_conversion(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    question = f"{metadata['source_repr']} from base {metadata['source_base']} to base {metadata['target_base']}"
    return plain(question, metadata["target_repr"], key=metadata["decimal_value"])


def _count_bits(entry: Entry, index: int) -> Task:
    return plain(str(entry["metadata"]["number"]), entry["answer"])


def _count_primes(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    return plain(f"{metadata['start']} to {metadata['end']}", entry["answer"])


def _prime_factorization(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    return plain(str(metadata["number"]), " ".join(map(str, metadata["factors"])))


def _fraction_simplification(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    top, bottom = metadata["simplified_numerator"], metadata["simplified_denominator"]
    return plain(f"{metadata['numerator']}/{metadata['denominator']}", f"{top}/{bottom}", key=f"{top}/{bottom}")


def _dice(entry: Entry, index: int) -> Task:
    puzzle = entry["metadata"]["puzzle"]
    return plain(f"{puzzle['dice_str']} sum to {puzzle['target']} or more", entry["answer"], key=puzzle["dice_str"])


def _coin_flip(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    bound = "exactly" if metadata["problem_type"] == "exact" else "at least"
    rational = metadata["rational"]
    question = f"{bound} {metadata['k_heads']} heads in {metadata['num_trials']} flips"
    return plain(question, f"{rational['numerator']}/{rational['denominator']}")


def _leg_counting(entry: Entry, index: int) -> Task | None:
    """Drop starfish, whose five arms the generator counts as legs."""
    animals = entry["metadata"]["animals"]
    if "starfish" in animals:
        return None
    return plain(", ".join(f"{count} {name}" for name, count in animals.items()), entry["answer"])


def _simple_equations(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    return plain(f"{metadata['variable']} in {metadata['equation']}", entry["answer"], key=metadata["equation"])


RECIPES = (
    Recipe("gcd", "gcd", _gcd, "Greatest common divisor: {question}", "Greatest common divisor.", verify=NUMBER),
    Recipe("lcm", "lcm", _numbers, "Least common multiple: {question}", "Least common multiple.", verify=NUMBER),
    Recipe(
        "chain_sum",
        "chain_sum",
        _expression,
        "{question} =",
        "Add and subtract whole numbers.",
        {"max_terms": 4, "max_digits": 3},
        verify=NUMBER,
    ),
    Recipe(
        "decimal_chain_sum",
        "decimal_chain_sum",
        _expression,
        "Exactly: {question} =",
        "Add and subtract decimal numbers.",
        {"max_terms": 4, "max_digits": 2, "max_decimal_places": 2},
        verify=NUMBER,
    ),
    Recipe(
        "products",
        "products",
        _expression,
        "{question} =",
        "Multiply whole numbers.",
        {"max_digits": 3},
        verify=NUMBER,
    ),
    Recipe(
        "basic_arithmetic",
        "basic_arithmetic",
        _expression,
        "Work out: {question}",
        "Sums, differences and products with brackets.",
        {"operators": ["+", "-", "*"], "max_terms": 4, "max_digits": 2},
        verify=NUMBER,
    ),
    Recipe(
        "bitwise_arithmetic",
        "bitwise_arithmetic",
        _bitwise_arithmetic,
        "In hexadecimal such as -0x3, of any length: {question} =",
        "Arithmetic and shifts on hexadecimal numbers.",
    ),
    Recipe(
        "base_conversion",
        "base_conversion",
        _base_conversion,
        "Convert, digits 0-9 then a-z: {question}",
        "Convert a number from one base to another.",
    ),
    Recipe(
        "count_bits",
        "count_bits",
        _count_bits,
        "Ones in the binary form of {question}",
        "Count the ones of a number's binary form.",
        {"max_n": 65535},
        verify=NUMBER,
    ),
    Recipe(
        "count_primes",
        "count_primes",
        _count_primes,
        "How many primes from {question}, both included?",
        "Count primes in an interval.",
        {"max_n": 500},
        verify=NUMBER,
    ),
    Recipe(
        "prime_factorization",
        "prime_factorization",
        _prime_factorization,
        "Prime factors from the smallest, like `2 2 3`: {question}",
        "Factor a number into primes.",
        {"max_value": 5000},
    ),
    Recipe(
        "fraction_simplification",
        "fraction_simplification",
        _fraction_simplification,
        "Lowest terms, like `3/4`: {question}",
        "Reduce a fraction to its lowest terms.",
    ),
    Recipe(
        "dice",
        "dice",
        _dice,
        "Chance, as a fraction, that {question}",
        "Chance that dice reach a sum.",
        {"num_dice": 3, "max_dice_size": 20},
        verify=NUMBER,
    ),
    Recipe(
        "coin_flip",
        "coin_flip",
        _coin_flip,
        "Chance, as a fraction, of {question} of a fair coin",
        "Chance of a number of heads.",
        {"max_trials": 40},
        verify=NUMBER,
    ),
    Recipe(
        "leg_counting",
        "leg_counting",
        _leg_counting,
        "Legs in all: {question}",
        "Count the legs of animals.",
        {"max_animals": 5},
        verify=NUMBER,
    ),
    Recipe(
        "simple_equations",
        "simple_equations",
        _simple_equations,
        "Find {question}",
        "Solve an equation in one unknown.",
        verify=NUMBER,
    ),
)
