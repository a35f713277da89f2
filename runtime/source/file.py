"""Sources that read local files: `jsonl(path)`, `json(path)`, `csv(path)`.

A relative path counts from the file that names it. Rows are objects whose keys are field names; whether they fit the
domain's fields is the compiler's question (DA001), whether they can be read at all is this module's (DataError).
Row numbers in messages count from 1, as lines do.
"""

import codecs
import csv
import io
import json
from pathlib import Path
from typing import Any

from assay.core.error import DataError
from assay.core.leaf import source
from assay.runtime.source.rows import Rows


class JsonLines:
    """Rows of a JSON Lines file; only where each row begins is kept in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: list[tuple[int, int, int]] = []  # (offset, length, line)
        offset = 0
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    start = len(codecs.BOM_UTF8) if number == 1 and line.startswith(codecs.BOM_UTF8) else 0
                    if line[start:].strip():
                        self._places.append((offset + start, len(line) - start, number))
                    offset += len(line)
        except OSError as error:
            raise _unreadable(path, error) from None

    def __len__(self) -> int:
        return len(self._places)

    def read(self, index: int) -> dict[str, Any]:
        """Return one row.

        Raises:
            DataError: the line is no JSON object, or the file has gone.
        """
        offset, length, number = self._places[index]
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                data = file.read(length)
        except OSError as error:
            raise _unreadable(self.path, error) from None
        return _object(_decode(data, f"{self.path}:{number}"), f"{self.path}:{number}")


@source("jsonl", version=1, local=True)
def jsonl(base: Path, path: Path) -> JsonLines:
    """One JSON object a line; empty lines are skipped."""
    return JsonLines(base / path)


@source("json", version=1, local=True)
def json_file(base: Path, path: Path) -> Rows:
    """A JSON list of objects."""
    where = base / path
    value = _decode(_read(where), str(where))
    if not isinstance(value, list):
        raise DataError("a json source must be a list of objects", got=type(value).__name__, at=where)
    return Rows([_object(row, f"{where}: row {number}") for number, row in enumerate(value, start=1)])


@source("csv", version=1, local=True)
def csv_file(base: Path, path: Path, json: list[str] | None = None, delimiter: str = ",") -> Rows:
    """Lines of cells below a line of field names; cells are texts, those of the columns in `json` JSON values."""
    where = base / path
    try:
        text = _read(where).decode("utf-8-sig")
        lines = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        names = lines.fieldnames or []
        _check_columns(names, json or [], str(where))
        rows = []
        for cells in lines:
            at = f"{where}:{lines.line_num}"
            if None in cells or None in cells.values():
                raise DataError(f"a csv row must have {len(names)} cells", at=at)
            rows.append(
                {name: _decode(cell.encode(), at) if name in (json or ()) else cell for name, cell in cells.items()}
            )
    except (UnicodeDecodeError, csv.Error, TypeError) as error:
        raise DataError("a csv source must be UTF-8 text with one delimiter", got=error, at=where) from None
    return Rows(rows)


def _check_columns(names: Any, decoded: list[str], where: str) -> None:
    if twice := sorted({name for name in names if list(names).count(name) > 1}):
        raise DataError("csv columns must differ", got=", ".join(twice), at=where)
    if missing := [name for name in decoded if name not in names]:
        raise DataError("columns named in `json` must exist", got=", ".join(missing), at=where)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None


def _decode(data: bytes, at: str) -> Any:
    """Return a JSON value; NaN and infinities are no JSON, and a name may stand once."""
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise DataError("a row must be JSON", got=error, at=at) from None


def _object(value: Any, at: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError("a row must be a JSON object", got=type(value).__name__, at=at)
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return row


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError("a source file must be readable", got=error.strerror or type(error).__name__, at=path)
