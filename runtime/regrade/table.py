"""Stored episodes as columns: a stretch of the ledger, sorted by what an edit asks of each."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from assay.core.kind import Kind
from assay.core.verdict import Measurement, Verdict
from assay.dsl.change import Effect, Reason
from assay.dsl.column import ColumnGrader
from assay.dsl.expr.node import Ref, Signal
from assay.dsl.recall import Recall
from assay.runtime.regrade.stored import Row, StoredRun

# Episodes of one stretch: columns of this length with all temporaries take some megabytes.
STRETCH = 1 << 15
_NAN = float("nan")


class Table(msgspec.Struct, frozen=True):
    """One stretch of one entry's episodes.

    Attributes:
        rows: As the ledger holds them.
        verdicts: Of the rows.
        measured: Of the rows: stored measurements that count, by their names in the edited program.
        effects: What the edit asks of each row.
        reasons: Why, where a row must be played again.
        columns: What the edited reward reads; NaN, False, "" or [] where it was not measured.
    """

    rows: list[Row]
    verdicts: list[Verdict]
    measured: list[dict[str, Measurement]]
    effects: list[Effect]
    reasons: list[Reason | None]
    columns: dict[str, Any]

    def of(self, effect: Effect) -> list[int]:
        """Return the places of the rows of one effect."""
        return [place for place, found in enumerate(self.effects) if found == effect]


def tables(run: StoredRun, entry: str, recall: Recall, columns: ColumnGrader) -> Iterator[Table]:
    """Yield the episodes of an entry that have a verdict, in stretches.

    Args:
        run: Where they are stored.
        entry: Name of the mix entry.
        recall: The edit.
        columns: The edited program over columns.
    """
    rows = run.graded(entry)
    while stretch := list(islice(rows, STRETCH)):
        yield _table(run, stretch, recall, columns)


def _table(run: StoredRun, rows: list[Row], recall: Recall, grader: ColumnGrader) -> Table:
    import numpy

    size = len(rows)
    verdicts = [row.verdict for row in rows]
    measured = [recall.measured(verdict) for verdict in verdicts]
    fields = [run.fields(row) if recall.needs_fields else {} for row in rows]
    reasons = [recall.rerun(row.split, values) for row, values in zip(rows, fields, strict=True)]
    columns: dict[str, Any] = {}
    traces = [row.trace for row in rows] if any(name.startswith("trace.") for name in grader.names) else []
    for name in grader.names:
        owner, _, signal = name.partition(".")
        kind = recall.grader.scope.kind(Signal(owner=owner, name=signal) if signal else Ref(name=owner))
        filler = blank(kind)
        values: Sequence[Any]
        if not signal:
            values = [one.get(name, filler) for one in fields]
        elif owner == "trace":
            values = [trace[signal] for trace in traces]
        else:
            values = [one[owner].signals[signal] if owner in one else filler for one in measured]
        columns[name] = _column(values, kind)
    has = {
        name: numpy.fromiter((name in one for one in measured), dtype=numpy.bool_, count=size)
        for name in recall.change.sources
    }
    enough = grader.sufficient(columns, has, size).tolist()
    kept: Effect = "REUSE" if recall.change.is_same_reward else "REDUCE"
    settled = [recall.is_settled(verdict) for verdict in verdicts]
    effects: list[Effect] = [
        "RERUN" if reason else "REUSE" if is_settled else kept if is_enough else "REGRADE"
        for reason, is_settled, is_enough in zip(reasons, settled, enough, strict=True)
    ]
    return Table(rows, verdicts, measured, effects, reasons, columns)


def blank(kind: Kind | None) -> Any:
    """Return what stands for a value nobody measured; a number that is read all the same poisons its reward."""
    match None if kind is None else kind.name:
        case "bool":
            return False
        case "int" | "float":
            return _NAN
        case "list":
            return []
    return ""


def _column(values: Sequence[Any], kind: Kind | None) -> Any:
    import numpy

    name = None if kind is None else kind.name
    if name in ("bool", "int", "float"):
        return numpy.asarray(values, dtype=numpy.bool_ if name == "bool" else numpy.float64)
    column = numpy.empty(len(values), dtype=object)
    column[:] = values
    return column
