"""Every clause of the contract of exporters turns red for an exporter that breaks it."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from red import breaks

from assay.core.array import Array
from assay.runtime.policy.export import HuggingFaceExporter
from assay.runtime.policy.model import read_tensors
from assay.runtime.testing.exporter import ExporterContract

State = Iterable[tuple[str, Any]]


class Rounding(HuggingFaceExporter):
    """Writes half of the digits."""

    def __init__(self) -> None:
        super().__init__("bfloat16")


class Dated(HuggingFaceExporter):
    """Writes who wrote."""

    count = 0

    def write(self, folder: Path, state: State, policy: Path) -> None:
        super().write(folder, state, policy)
        Dated.count += 1
        (folder / "log.txt").write_text(f"{os.getpid()} {Dated.count}")


class Ordered(HuggingFaceExporter):
    """Takes weights by their place."""

    def write(self, folder: Path, state: State, policy: Path) -> None:
        names = [name for name, _ in read_tensors(policy)]
        values = [value for _, value in state]
        by_shape: dict[tuple[int, ...], list[Array]] = {}
        for value in values:
            by_shape.setdefault(tuple(value.shape), []).append(value)
        shapes = {name: tuple(tensor.shape) for name, tensor in read_tensors(policy)}
        super().write(folder, [(name, by_shape[shapes[name]].pop(0)) for name in names], policy)


class Filling(HuggingFaceExporter):
    """Takes what is missing from the policy."""

    def write(self, folder: Path, state: State, policy: Path) -> None:
        super().write(folder, (dict(read_tensors(policy)) | dict(state)).items(), policy)


class Messy(HuggingFaceExporter):
    """Leaves something in the policy."""

    def write(self, folder: Path, state: State, policy: Path) -> None:
        (policy / "exported").touch()
        super().write(folder, state, policy)


RED = [
    ("test_what_is_read_back_is_what_was_written", Rounding, "model.embed_tokens.weight must have its values"),
    ("test_equal_weights_give_equal_files", Dated, "equal weights must give equal files"),
    ("test_weights_are_taken_as_they_come", Ordered, "the order of the weights must not matter"),
    ("test_weights_that_are_not_all_there_are_refused", Filling, "an exporter must refuse weights that are not all"),
    ("test_the_policy_it_came_from_stays_as_it_is", Messy, "an export must not change its policy"),
]


@pytest.mark.parametrize(("clause", "wrong", "must"), RED, ids=[one[1].__name__ for one in RED])
def test_wrong_exporter_breaks_its_clause(clause: str, wrong: type, must: str) -> None:
    assert breaks(ExporterContract, clause, wrong, read=read_tensors).startswith(must)


def test_contract_without_a_reader_says_so() -> None:
    with pytest.raises(TypeError, match="must set `read`"):
        breaks(ExporterContract, "test_what_is_read_back_is_what_was_written", HuggingFaceExporter)
