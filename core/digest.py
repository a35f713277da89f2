"""Canonical JSON and content digests.

One value has one byte string: keys sorted, no spaces, UTF-8, shortest float text, `-0.0` as `0.0`.
A number that is not finite has no canonical form and is refused.
"""

import hashlib
import math
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder(order="sorted")


def canonical_json(value: object) -> bytes:
    """Encode a struct or plain value as canonical JSON.

    Args:
        value: msgspec structs, dicts with text keys, lists, tuples, text, numbers, booleans, None.

    Returns:
        UTF-8 bytes; equal values give equal bytes.

    Raises:
        ValueError: a float is NaN or infinite.
    """
    return _encoder.encode(_plain(msgspec.to_builtins(value)))


def digest(value: object) -> str:
    """Return the SHA-256 of a value's canonical JSON, as 64 hex digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"a digest needs finite numbers, got {value}")
        return value + 0.0
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
