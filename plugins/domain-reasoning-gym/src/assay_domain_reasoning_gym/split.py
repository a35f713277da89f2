"""Splits by content: a task's key alone says whether it may be trained on, shown or tested with.

No seed, size, order or generator option can move a task from one split to another.
"""

import hashlib
from typing import Literal

Split = Literal["train", "demos", "eval"]
SPLITS: tuple[Split, ...] = ("train", "demos", "eval")

# Of 100 parts of the keys, by hash.
TRAIN_PARTS, DEMO_PARTS = 40, 40


def key_to_split(key: str) -> Split:
    """Return the split of a task key."""
    part = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % 100
    if part < TRAIN_PARTS:
        return "train"
    return "demos" if part < TRAIN_PARTS + DEMO_PARTS else "eval"
