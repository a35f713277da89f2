"""Rows become tasks: those of a file, those of a generator, demonstrations, and those that fit nothing."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from assay.core.error import DataError, SourceError
from assay.core.registry import installed
from assay.core.task import Demonstration, Task
from assay.core.wire import LeaseTasks, Report, TasksReady
from assay.dsl.compile import compile_bytes
from assay.runtime.run.build import build_entry
from assay.runtime.run.plan import EntryPlan
from assay.runtime.stage.source import Reader, SourceStage, describe
from assay.runtime.store.local import LocalStore

DOMAIN = """
assay: 1
domain: local.rows
version: 1
summary: Rows of a file.
fields: {question: str, expected: str}
data:
  train: jsonl("train.jsonl")
  demos: jsonl("demos.jsonl")
  eval:
    - {question: "1+1", expected: "2"}
prompt: "{question}"
verify: {ans: text.equal(expected)}
reward: {outcome: {correct: 1.0*ans.equal}}
"""


@pytest.fixture
def entry(tmp_path: Path) -> EntryPlan:
    """An entry whose files were sound when it was compiled and are not any more."""
    good = '{"question": "2+2", "expected": "4"}\n'
    shown = '{"question": "2+2", "expected": "4", "completion": "it is 4"}\n'
    (tmp_path / "train.jsonl").write_text(3 * good)
    (tmp_path / "demos.jsonl").write_text(2 * shown)
    compiled = compile_bytes(DOMAIN.encode(), installed(), "d.yaml", tmp_path)
    entry = build_entry("rows", 1.0, compiled, installed())
    (tmp_path / "train.jsonl").write_text(good + '{"question": "3+3"}\n' + '{"question": "4+4", "expected": 8}\n')
    (tmp_path / "demos.jsonl").write_text(shown + good)
    return entry


def test_row_of_a_file_is_a_task(entry: EntryPlan) -> None:
    task, body = Reader(entry, "train").read(0)
    assert {"question": "2+2", "expected": "4"} == task.fields
    assert task is body
    assert (entry.splits["train"].digest, "train", 0) == (task.ref.source, task.ref.split, task.ref.index)
    assert "local/local.rows@1" == task.domain


def test_row_written_in_the_domain_is_a_task(entry: EntryPlan) -> None:
    task, _ = Reader(entry, "eval").read(0)
    assert {"question": "1+1", "expected": "2"} == task.fields


def test_demonstration_has_its_completion_beside_the_task(entry: EntryPlan) -> None:
    task, body = Reader(entry, "demos").read(0)
    assert isinstance(body, Demonstration)
    assert ("it is 4", task) == (body.completion, body.task)
    assert "completion" not in task.fields


def test_equal_tasks_of_two_splits_have_one_hash(entry: EntryPlan) -> None:
    assert Reader(entry, "train").read(0)[0].hash == Reader(entry, "demos").read(0)[0].hash


@pytest.mark.parametrize(
    ("split", "index", "message"),
    [
        ("train", 1, "must have the field `expected`"),
        ("train", 2, "field `expected` must be str, got 8"),
        ("demos", 1, "must have the field `completion`"),
    ],
)
def test_row_that_does_not_fit_is_named(entry: EntryPlan, split: Any, index: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Reader(entry, split).read(index)


def test_lease_is_answered_whole_with_what_failed(entry: EntryPlan, tmp_path: Path) -> None:
    reports: list[Report] = []
    plan: Any = SimpleNamespace(entry=lambda name: entry)
    client: Any = SimpleNamespace(send=reports.append)
    store = LocalStore(tmp_path / "blobs", "source-0")
    stage = SourceStage(plan, store, client)
    stage.take(LeaseTasks(9, "rows", "train", (0, 1, 2)))
    assert stage.is_busy
    stage.work()
    (answer,) = reports
    assert isinstance(answer, TasksReady)
    assert ([0], [1, 2], {"bad_row"}) == (
        [task.index for task in answer.tasks],
        [failure.index for failure in answer.failures],
        {failure.reason for failure in answer.failures},
    )
    reader = LocalStore(tmp_path / "blobs")
    task = msgspec.msgpack.decode(reader.get(answer.tasks[0].blob), type=Task)
    assert answer.tasks[0].hash == task.hash
    reader.close()
    stage.close()


def test_text_that_cannot_be_written_down_is_a_bad_row(entry: EntryPlan, tmp_path: Path) -> None:
    half = '{"question": "\\ud800", "expected": "4"}'
    (tmp_path / "train.jsonl").write_text('{"question": "2+2", "expected": "4"}\n' + f"{half}\n{half[:-1]}\n")
    reports: list[Report] = []
    plan: Any = SimpleNamespace(entry=lambda name: entry)
    client: Any = SimpleNamespace(
        send=lambda report: reports.append(msgspec.msgpack.decode(msgspec.msgpack.encode(report), type=Report))
    )
    stage = SourceStage(plan, LocalStore(tmp_path / "blobs", "source-0"), client)
    stage.take(LeaseTasks(9, "rows", "train", (0, 1, 2)))
    stage.work()
    (answer,) = reports
    assert isinstance(answer, TasksReady)
    assert ([0], [1, 2]) == ([one.index for one in answer.tasks], [one.index for one in answer.failures])
    stage.close()


def test_message_of_foreign_code_can_be_sent() -> None:
    assert "OSError: hole \\ud800 here" == describe(OSError("hole \ud800\n here"))


def test_source_that_does_not_open_is_refused_before_a_run(tmp_path: Path) -> None:
    compiled = compile_bytes(DOMAIN.encode(), installed(), "d.yaml", tmp_path)
    with pytest.raises(SourceError, match=r"train\.jsonl"):
        build_entry("rows", 1.0, compiled, installed())
