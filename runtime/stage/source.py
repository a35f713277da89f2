"""Source workers: rows become tasks in the store.

A row that cannot be read, or does not fit the fields of its domain, is counted with its reason and never tried again.
"""

from collections import deque
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from assay.core.error import AssayError, DataError
from assay.core.registry import resolve
from assay.core.source import Source
from assay.core.store import Store
from assay.core.task import Demonstration, Task, TaskRef
from assay.core.wire import FailedTask, LeaseTasks, Order, ReadyTask, Split, TasksReady
from assay.dsl.program import Program, Rows
from assay.dsl.rows import COMPLETION, check_row, split_fields
from assay.runtime.run.argument import bind
from assay.runtime.run.plan import EntryPlan, RunPlan, SplitPlan
from assay.runtime.source.level import Levels
from assay.runtime.source.rows import Rows as RowsInMemory
from assay.runtime.wire.client import Client


class SourceStage:
    """See `assay.runtime.stage.worker.Stage`."""

    def __init__(self, plan: RunPlan, store: Store, client: Client) -> None:
        self._plan = plan
        self._store = store
        self._client = client
        self._readers: dict[tuple[str, Split], Reader] = {}
        self._leases: deque[LeaseTasks] = deque()

    @property
    def is_busy(self) -> bool:
        """Whether a lease waits."""
        return bool(self._leases)

    def take(self, order: Order) -> None:
        """Queue a lease."""
        if isinstance(order, LeaseTasks):
            self._leases.append(order)

    def work(self) -> None:
        """Answer the oldest lease."""
        if not self._leases:
            return
        lease = self._leases.popleft()
        reader = self._reader(lease.entry, lease.split)
        ready: list[ReadyTask] = []
        failed: list[FailedTask] = []
        for index in lease.indices:
            try:
                task, body = reader.read(index)
                packed = msgspec.msgpack.encode(body)  # what text cannot be written down is a bad row too
            except Exception as error:  # the source is a plugin's code: one bad row must not end the worker
                failed.append(FailedTask(index, "bad_row", describe(error)))
                continue
            ready.append(ReadyTask(index, self._store.put(packed), task.hash))
        self._store.sync()
        self._client.send(TasksReady(lease.lease, lease.entry, lease.split, tuple(ready), tuple(failed)))

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _reader(self, entry: str, split: Split) -> "Reader":
        key = (entry, split)
        if key not in self._readers:
            self._readers[key] = Reader(self._plan.entry(entry), split)
        return self._readers[key]


class Reader:
    """Tasks of one entry and split by index.

    Args:
        entry: Of the plan.
        split: Which rows.
    """

    def __init__(self, entry: EntryPlan, split: Split) -> None:
        self._program = entry.program
        self._split: Split = split
        self._split_plan = entry.splits[split]
        self._source: Source | None = None

    def read(self, index: int) -> tuple[Task, Task | Demonstration]:
        """Return the task of a row, and what goes into the store: the task, or a demonstration of it.

        Raises:
            DataError: the row does not fit the fields of the domain.
            Exception: whatever the source raises.
        """
        if self._source is None:
            self._source = open_source(self._program, self._split, self._split_plan)
        row = self._source.read(index)
        if reason := check_row(row, split_fields(self._program.fields, self._split)):
            raise DataError(f"a row {reason}", at=f"{self._program.identity} {self._split} row {index}")
        fields = {name: row[name] for name in self._program.fields}
        task = Task(TaskRef(self._split_plan.digest, self._split, index), self._program.identity, fields)
        return (task, Demonstration(task, row[COMPLETION])) if self._split == "demos" else (task, task)


def open_source(program: Program, split: Split, plan: SplitPlan) -> Source:
    """Return the source of a split.

    Raises:
        PluginError: the source's package is not here.
        Exception: whatever the source raises on being opened.
    """
    if plan.levels:
        return Levels([(partial(open_part, program, split, plan, one.arguments), one.size) for one in plan.levels])
    return open_part(program, split, plan, {})


def open_part(program: Program, split: Split, plan: SplitPlan, attributes: Mapping[str, Any]) -> Source:
    """Return the source of one level.

    Args:
        program: Names the source.
        split: Which rows.
        plan: Of the split.
        attributes: Arguments of the level, in place of those of the call.

    Raises:
        PluginError: the source's package is not here.
        Exception: whatever the source raises on being opened.
    """
    data = program.data[split]
    if isinstance(data, Rows):
        return RowsInMemory(data.rows)
    leaf: Any = resolve(plan.ref)
    supplied = {"base": Path(plan.base), "split": split}
    wanted = {parameter.name for parameter in leaf.parameters if parameter.is_supplied}
    given = {name: value for name, value in supplied.items() if name in wanted}
    source: Source = leaf(**{**bind(data, program.params), **given, **attributes})
    return source


def describe(error: BaseException) -> str:
    """Return one line about an exception of foreign code."""
    text = " ".join(str(error).split())[:300].encode(errors="backslashreplace").decode()
    return text if isinstance(error, AssayError) else f"{type(error).__name__}: {text}"
