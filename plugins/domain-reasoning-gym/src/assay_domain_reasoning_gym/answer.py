"""The text of an answer, before anything is compared: ASCII blanks only, and nothing is parsed as code."""

import re

MAX_ANSWER = 4000
"""Characters of an answer that is looked into at all; the longest right one has under 1,000."""

_BLANKS = re.compile(r"[ \t\r\n]+")


def normalise(text: str | None) -> str:
    """Return the text with runs of ASCII blanks as one space, without those around it."""
    return "" if text is None else _BLANKS.sub(" ", text.strip(" \t\r\n"))


def cells(text: str | None) -> list[list[str]]:
    """Return the cells of rows apart by ` / `; an empty list where there is no such text or it is too long."""
    text = normalise(text)
    return [row.split(" ") for row in text.split(" / ")] if 0 < len(text) <= MAX_ANSWER else []


def moves(text: str | None, separator: str) -> list[str]:
    """Return what stands between separators, blanks around each dropped; an empty list where the text is too long."""
    text = normalise(text)
    return [part.strip(" ") for part in text.split(separator)] if 0 < len(text) <= MAX_ANSWER else []
