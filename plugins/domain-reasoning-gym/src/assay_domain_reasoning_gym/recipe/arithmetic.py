"""Domains over numbers."""

from decimal import Decimal

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


def _complex_arithmetic(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    first, second = (_complex(*metadata[name]) for name in ("num1", "num2"))
    return plain(f"({first}) {metadata['operation']} ({second})", _complex(*metadata["result"]))


def _complex(real: float, imaginary: float) -> str:
    return f"{int(real)} {'-' if imaginary < 0 else '+'} {abs(int(imaginary))}i"


def _number_format(entry: Entry, index: int) -> Task | None:
    """Judge by the numbers as they are written; drop ties."""
    metadata = entry["metadata"]
    texts = metadata["formatted_candidates"]
    numbers = sorted(Decimal(text.replace(",", "")) for text in texts)
    best, next_best = (numbers[-1], numbers[-2]) if metadata["size"] == "largest" else numbers[:2]
    if best == next_best:
        return None
    return plain(f"{metadata['size']} of {' '.join(texts)}", f"{best.normalize():f}", key=" ".join(sorted(texts)))


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
    Recipe(
        "complex_arithmetic",
        "complex_arithmetic",
        _complex_arithmetic,
        "With both parts, like `3 - 2i`: {question} =",
        "Add, subtract, multiply and divide complex numbers.",
    ),
    Recipe(
        "number_format",
        "number_format",
        _number_format,
        "Write in plain digits, without comma or exponent, the {question}",
        "Compare numbers that are written in different ways.",
        {"max_n": 1_000_000},
        verify=NUMBER,
    ),
)
