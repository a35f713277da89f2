"""`text.equal(expected)`: the same text, but for outer space and Unicode spelling."""

import unicodedata
from typing import Annotated

from assay.core.leaf import verifier
from assay.core.signal import Signals, signal


class TextMatch(Signals, frozen=True):
    """What a comparison of texts says."""

    equal: Annotated[bool, signal(better="up", doc="The answer is the expected text.")]


@verifier("text.equal", version=1, cost="1ms")
def text_equal(answer: str | None, expected: str, ignore_case: bool = False) -> TextMatch:
    """Compare after Unicode composition (NFC) and without space at both ends."""
    if answer is None:
        return TextMatch(equal=False)
    return TextMatch(equal=_normalise(answer, ignore_case) == _normalise(expected, ignore_case))


def _normalise(text: str, ignore_case: bool) -> str:
    text = unicodedata.normalize("NFC", text).strip()
    # Folding may decompose, so it is composed once more.
    return unicodedata.normalize("NFC", text.casefold()) if ignore_case else text
