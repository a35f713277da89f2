"""A digest that says whether two answers are equal, for who counts answers and must not hold them."""

import hashlib


def answer_digest(answer: str | None) -> int:
    """Return 63 bits of an answer; blanks around and between words do not matter.

    Args:
        answer: As the parser of the domain read it, or the final text; None where the parser refused.

    Returns:
        Above 0; 0 where there is no answer.
    """
    if answer is None:
        return 0
    text = " ".join(answer.split()).encode(errors="surrogatepass")
    return (int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) >> 1) or 1
