"""The contract of a source: the same arguments and index give the same row, to whoever asks and in whatever order."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec

from assay.core.kind import parse_kind
from assay.core.leaf import SourceLeaf
from assay.core.source import Source
from assay.dsl.rows import check_row, split_fields
from assay.runtime.testing import child
from assay.runtime.testing.contract import Contract

_SPLITS = "train", "eval"


class SourceContract(Contract):
    """What holds of a source.

    Attributes:
        source: The source.
        arguments: As a domain would bind them in `data:`.
        fields: Types of the fields of a row, as in `fields:` of a domain.
        size: How many rows there must be; None for any number but 0.
        seed: Name of the argument that changes the rows; None where none does.
        base: Folder that relative paths count from, for a source that asks for it.
        rows: How many rows are read; the last one is always among them.
    """

    kind = "source"
    source: ClassVar[SourceLeaf]
    arguments: ClassVar[Mapping[str, Any]] = {}
    fields: ClassVar[Mapping[str, str]] = {}
    size: ClassVar[int | None] = None
    seed: ClassVar[str | None] = None
    base: ClassVar[Path] = Path()
    rows: ClassVar[int] = 64

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Leave out splits where it is not told of any, and seeds where it has none."""
        names = [] if cls._has("split") else ["test_training_and_evaluation_share_no_row"]
        return names if cls.seed is not None else [*names, "test_another_seed_gives_other_rows"]

    def test_its_declaration_can_be_read(self) -> None:
        """Every parameter is annotated."""
        parameters = inspect.signature(self.source.function).parameters
        bare = [name for name, one in parameters.items() if one.annotation is one.empty]
        self.require(not bare, "a source's parameters must be annotated", got=", ".join(bare))

    def test_it_states_how_many_rows_there_are(self) -> None:
        """It opens, has a length, and refuses the row behind the last."""
        source = self._open()
        self.require(isinstance(source, Source), "a source must have `read` and a length", got=type(source).__name__)
        count = len(source)
        self.require(count > 0, "a source must have rows", got=count)
        self.require(self.size in (None, count), f"this source must have {self.size} rows", got=count)
        try:
            row = source.read(count)
        except Exception:
            return
        self.broken("a source must refuse a row that does not exist", got=f"{row!r} at {count} of {count}")

    def test_every_row_fits_the_fields(self) -> None:
        """The rows read have the declared fields, and no value that cannot be stored and sent."""
        self.require(
            self.fields, "a contract must state the fields of a row", todo='Add `fields = {"question": "str"}`'
        )
        kinds = {name: parse_kind(text) for name, text in self.fields.items()}
        for split in self._splits():
            source = self._open(split)
            for index in self._indices(source):
                row = source.read(index)
                fault = check_row(row, split_fields(kinds, split)) or _unsendable(row)
                self.require(not fault, f"row {index} of {split} must fit its fields", got=fault)

    def test_order_of_reading_changes_no_row(self) -> None:
        """Read backwards from a second opening, and after the reader has changed its row, the rows are the same."""
        source, second = self._open(), self._open()
        indices = self._indices(source)
        expected = {index: _packed(source.read(index)) for index in indices}
        for index in reversed(indices):
            self._require_same(index, expected[index], second.read(index), "read backwards")
            row = source.read(index)
            row.clear()
            self._require_same(index, expected[index], source.read(index), "after a reader changed its copy")

    def test_every_process_reads_the_same_rows(self) -> None:
        """Two further processes, whose texts hash differently, read the same rows."""
        source = self._open()
        indices = self._indices(source)
        arguments = self._arguments("train", self.arguments)
        paths = tuple(name for name, value in arguments.items() if isinstance(value, Path))
        plain = {name: str(value) if name in paths else value for name, value in arguments.items()}
        errand = child.Errand("rows", self.offer.ref, plain, paths, tuple(indices))
        for seed in ("1", "2"):
            ran = child.send(errand, PYTHONHASHSEED=seed)
            self.require(not ran.error, "a source must open in another process", got=ran.error)
            for index, done in zip(indices, ran.done, strict=True):
                self.require(not done.error, f"row {index} must be readable in another process", got=done.error)
                self._require_same(index, _packed(source.read(index)), done.value, f"with PYTHONHASHSEED={seed}")

    def test_training_and_evaluation_share_no_row(self) -> None:
        """No row of `eval` among those read is one of `train`: what is measured must not have been practised."""
        train, held_out = (
            {_packed(source.read(index)) for index in self._indices(source)}
            for source in (self._open(split) for split in _SPLITS)
        )
        shared = train & held_out
        self.require(
            not shared,
            "no row may be of train and of eval",
            got=f"{len(shared)} of {len(held_out)} in both",
            todo="Choose the split by a digest of what makes a row itself",
        )

    def test_another_seed_gives_other_rows(self) -> None:
        """The argument that `seed` names changes the rows."""
        assert self.seed is not None
        seeds = [self.arguments.get(self.seed, 0), 987_654_321]
        sources = [self._open(**{self.seed: seed}) for seed in seeds]
        first, second = ([_packed(source.read(index)) for index in self._indices(source)] for source in sources)
        self.require(first != second, f"another `{self.seed}` must give other rows", got=f"the same rows for {seeds}")

    @classmethod
    def _has(cls, name: str) -> bool:
        return any(parameter.name == name for parameter in cls.source.parameters)

    def _splits(self) -> tuple[str, ...]:
        return _SPLITS if self._has("split") else ("train",)

    def _arguments(self, split: str, given: Mapping[str, Any]) -> dict[str, Any]:
        supplied = {"base": self.base.absolute(), "split": split}
        return {**given, **{name: value for name, value in supplied.items() if self._has(name)}}

    def _open(self, split: str = "train", **changed: Any) -> Source:
        try:
            return cast(Source, self.source(**self._arguments(split, {**self.arguments, **changed})))
        except Exception as error:  # whatever it raises on being opened
            self.broken("a source must open", got=error)

    def _indices(self, source: Source) -> list[int]:
        return sorted({*range(min(self.rows, len(source))), len(source) - 1})

    def _require_same(self, index: int, expected: bytes, row: Any, how: str) -> None:
        __tracebackhide__ = True
        self.require(
            expected == _packed(row),
            f"row {index} must be the same whoever reads it, also {how}",
            got=f"{row!r}, then {msgspec.msgpack.decode(expected)!r}",
            todo="Seed it with its arguments and index, and with nothing else; sets have no order",
        )


def _packed(row: Any) -> bytes:
    return msgspec.msgpack.encode(row, order="sorted")


def _unsendable(row: object) -> str | None:
    try:
        msgspec.msgpack.encode(row)
    except Exception as error:
        return f"must be plain data, got {error}"
    return None
