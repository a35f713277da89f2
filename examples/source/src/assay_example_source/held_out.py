"""`held_out.jsonl(path, key)`: rows of a file, split by a digest of one field."""

import hashlib
import json
from pathlib import Path
from typing import Any

import assay


class Part:
    """The rows of one split, in the order of the file."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, index: int) -> dict[str, Any]:
        """Return a copy of one row."""
        return dict(self._rows[index])


@assay.source("held_out.jsonl", version=1, local=True)
def jsonl(base: Path, split: str, path: Path, key: str, percent: int = 10, seed: int = 0) -> Part:
    """JSON objects, one a line; `percent` of the values of `key` are for eval, the others for training.

    Raises:
        AssayError: the file cannot be read, a line is no object, or it lacks the key.
    """
    where = base / path
    try:
        lines = where.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise assay.AssayError("a source file must be readable", got=error.strerror, at=where, code="DA001") from None
    rows = [_row(line, key, f"{where}:{number}") for number, line in enumerate(lines, start=1) if line.strip()]
    is_eval = split == "eval"
    return Part([row for row in rows if (_bucket(row[key], seed) < percent) == is_eval])


def _row(line: str, key: str, at: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise assay.AssayError("a row must be JSON", got=error, at=at, code="DA001") from None
    if not isinstance(row, dict) or key not in row:
        raise assay.AssayError(f"a row must be an object with `{key}`", at=at, code="DA001")
    return row


def _bucket(value: object, seed: int) -> int:
    """Return 0..99, the same in every process; Python's own hash of a text is not."""
    digest = hashlib.sha256(f"{seed} {json.dumps(value, sort_keys=True)}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % 100
