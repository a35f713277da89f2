"""The first rows of a domain's sources, read and held against its fields."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.core.error import AssayError
from assay.core.registry import Registry
from assay.dsl.domain import open_source
from assay.dsl.program import Program, Use
from assay.dsl.rows import check_row, split_fields


class Reading(msgspec.Struct, frozen=True):
    """How reading one split went.

    Attributes:
        split: Which.
        count: Rows read; where one does not fit, its index.
        problem: The first thing that does not fit; empty where all rows do.
    """

    split: str
    count: int
    problem: str


def read_rows(program: Program, base: Path, registry: Registry, limit: int) -> Iterator[Reading]:
    """Read up to `limit` rows of every split that a source gives; rows written in the file are the compiler's."""
    for split, data in program.data.items():
        if not isinstance(data, Use) or limit == 0:
            continue
        fields = split_fields(program.fields, split)
        count = 0
        try:
            source = open_source(registry.find("source", data.leaf).value, data, program.params, base, split)
            for count in range(min(len(source), limit)):
                if (reason := check_row(source.read(count), fields)) is not None:
                    yield Reading(split, count, f"DA001: row {count} {reason}")
                    break
            else:
                count = min(len(source), limit)
                yield Reading(split, count, "" if count else "DA001: a source must have rows, got none")
        except AssayError as error:
            yield Reading(split, count, f"{error.error_code}: {error}")
        except Exception as error:  # a source is a package's code; whatever it raises is what is looked for here
            yield Reading(split, count, f"DA001: row {count} must be readable, got {type(error).__name__}: {error}")
