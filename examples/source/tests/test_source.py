"""The source keeps the contract of sources."""

from pathlib import Path

from assay_example_source.held_out import jsonl

from assay.testing import SourceContract

TestHeldOut = SourceContract.of(
    jsonl,
    arguments={"path": Path("questions.jsonl"), "key": "question", "percent": 20},
    base=Path(__file__).parent,
    fields={"question": "str", "expected": "str"},
    seed="seed",
)


def test_no_row_is_lost() -> None:
    parts = [jsonl(base=Path(__file__).parent, split=split, path=Path("questions.jsonl"), key="question")
             for split in ("train", "eval")]  # fmt: skip
    assert sum(map(len, parts)) == 40
