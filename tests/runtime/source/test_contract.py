"""The built-in sources keep the contract that every package's sources must keep."""

from pathlib import Path

import pytest

from assay.runtime.source.file import csv_file, json_file, jsonl
from assay.testing import SourceContract

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent / "rows"
FIELDS = {"question": "str", "tags": "list[str]"}

TestJsonl = SourceContract.of(jsonl, arguments={"path": Path("rows.jsonl")}, base=HERE, fields=FIELDS, size=2)
TestJson = SourceContract.of(json_file, arguments={"path": Path("rows.json")}, base=HERE, fields=FIELDS, size=2)
TestCsv = SourceContract.of(
    csv_file, arguments={"path": Path("rows.csv"), "json": ["tags"]}, base=HERE, fields=FIELDS, size=2
)
