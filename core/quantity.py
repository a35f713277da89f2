"""Durations, sizes and counts as people write them.

`ms s min h` for durations, `KiB MiB GiB` for bytes, decimal `k M` for tokens.
"""

import math
import re

_DURATION_S = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_SIZE_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_COUNT = {"": 1, "k": 1_000, "M": 1_000_000}
_SHAPE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_duration(text: str) -> float:
    """Return seconds of a text such as `8s`, `20min` or `1.5h`.

    Raises:
        ValueError: the text is no number with one of the units ms, s, min, h.
    """
    return _parse(text, _DURATION_S, "a duration such as 500ms, 8s, 20min or 1h")


def parse_size(text: str) -> int:
    """Return bytes of a text such as `4GiB`.

    Raises:
        ValueError: the text is no whole number of bytes with one of B, KiB, MiB, GiB.
    """
    return _whole(_parse(text, _SIZE_BYTES, "a size such as 64KiB, 512MiB or 4GiB"), text)


def parse_count(text: str) -> int:
    """Return a count such as `64k` (64,000) or `2M`.

    Raises:
        ValueError: the text is no whole count.
    """
    return _whole(_parse(text, _COUNT, "a count such as 60, 64k or 2M"), text)


def format_duration(seconds: float) -> str:
    """Return the shortest readable text of a duration in seconds."""
    for unit, factor in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= factor:
            return f"{seconds / factor:.3g}{unit}"
    return f"{seconds * 1000:.3g}ms"


def _parse(text: str, units: dict[str, float] | dict[str, int], expected: str) -> float:
    match = _SHAPE.fullmatch(text)
    if match is None or match[2] not in units:
        raise ValueError(f"must be {expected}, got {text!r}")
    # Multiplied as decimal-friendly floats: 0.5 GiB is exact, 1ms is 0.001.
    value = float(match[1]) * units[match[2]]
    if not math.isfinite(value):
        raise ValueError(f"must be {expected}, got {text[:20]}...")
    return value


def _whole(value: float, text: str) -> int:
    if value != int(value):
        raise ValueError(f"must be a whole number, got {text!r}")
    return int(value)
