"""Parsers that break one clause each, and one that breaks none."""

import re
import time

import assay


@assay.parser("wrong.none", version=1)
def right(text: str) -> str | None:
    """The text without blanks around it."""
    return text.strip() or None


@assay.parser("wrong.bare", version=1)
def bare(text) -> str | None:
    """Take something of no type."""
    return str(text)


@assay.parser("wrong.nameless", version=1)
def nameless(said: str) -> str | None:
    """Call the text otherwise."""
    return said


@assay.parser("wrong.upper", version=1)
def upper(text: str) -> str | None:
    """Shout."""
    return text.upper()


@assay.parser("wrong.raising", version=1)
def raising(text: str) -> str | None:
    """Raise where there is no number."""
    return str(int(text))


@assay.parser("wrong.encoding", version=1)
def encoding(text: str) -> str | None:
    """Go through bytes, which half a character has none of."""
    return text.encode().decode()


_seen: list[str] = []


@assay.parser("wrong.remembering", version=1)
def remembering(text: str) -> str | None:
    """Return what was read before."""
    _seen.append(text)
    return str(len(_seen))


@assay.parser("wrong.growing", version=1)
def growing(text: str) -> str | None:
    """Add to whatever it reads."""
    return f"{text}!"


@assay.parser("wrong.slow", version=1)
def slow(text: str) -> str | None:
    """Look at a long text for long."""
    if len(text) > 2**20 - 1:
        time.sleep(0.3)
    return re.sub(r"\s", "", text[:10])
