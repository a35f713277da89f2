"""Names: identifiers, dotted ids and the nearest known ones."""

import difflib
import re
from collections.abc import Iterable

_DOTTED = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9][A-Za-z0-9_-]*)*")

# Names that a misspelled one is compared with.
MAX_COMPARED = 200


def is_dotted(text: str) -> bool:
    """Whether a text may name a domain, verifier, source or other registered thing."""
    return len(text) <= 200 and _DOTTED.fullmatch(text) is not None


def nearest(name: str, known: Iterable[str], n: int = 3) -> tuple[str, ...]:
    """Return up to `n` known names that look like `name`, the nearest first."""
    names = list(dict.fromkeys(known))
    if len(names) > MAX_COMPARED:
        # Comparing takes time; of very many names only those with the same first letter are looked at.
        names = [item for item in names if item[:1].lower() == name[:1].lower()][:MAX_COMPARED]
    close = difflib.get_close_matches(name, names, n=n, cutoff=0.6)
    lower = {item.lower(): item for item in names}
    if not close and name.lower() in lower:
        close = [lower[name.lower()]]
    return tuple(close)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `did you mean a, b or c?`, or which names there are, or an empty text where there is none."""
    names = sorted(dict.fromkeys(known))
    if close := nearest(name, names):
        return f"did you mean {_listed(close)}?"
    if names:
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        return f"known: {', '.join(names[:8])}{more}"
    return ""


def _listed(names: tuple[str, ...]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
