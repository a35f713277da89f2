"""A version is read whole or not at all."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.core.array import Array
from assay.core.error import StoreError
from assay.core.trajectory import WeightVersion
from assay.runtime.weight import publisher as publisher_module
from assay.runtime.weight.layout import TensorSpec, WeightLayout
from assay.runtime.weight.publisher import WeightPublisher
from assay.runtime.weight.reader import State, WeightReader

StateOf = Callable[..., Iterator[tuple[str, Array]]]
VersionOf = Callable[[int], WeightVersion]


@pytest.fixture
def publisher(tmp_path: Path, layout: WeightLayout) -> Iterator[WeightPublisher]:
    publisher = WeightPublisher(tmp_path, layout)
    yield publisher
    publisher.close()


def copy_of(reader: WeightReader, version: WeightVersion) -> dict[str, list[float]]:
    """Read one version into lists."""
    found: dict[str, list[float]] = {}

    def take(state: State) -> None:
        found.clear()
        for spec, view in state:
            found[spec.name] = list(view.cast("f")) if spec.num_bytes else []

    reader.read(version, take)
    return found


def values_of(reader: WeightReader, version: WeightVersion) -> set[float]:
    return {value for values in copy_of(reader, version).values() for value in values}


def test_what_is_published_is_read_under_its_name(
    publisher: WeightPublisher, state_of: StateOf, version_of: VersionOf
) -> None:
    state = [("b", Array("float32", (3, 5), Array.of(range(15), "float32").data))]
    state += [item for item in state_of(1.5) if item[0] != "b"]
    publisher.publish(reversed(state), version_of(1))
    found = copy_of(WeightReader(publisher.folder), version_of(1))
    assert {name: len(values) for name, values in found.items()} == {"a": 7, "b": 15, "empty": 0, "c": 4096}
    assert found["b"] == list(range(15))
    assert set(found["c"]) == {1.5}


@pytest.mark.slow
def test_tensors_are_published_as_float32(publisher: WeightPublisher, version_of: VersionOf) -> None:
    import torch

    shapes = {spec.name: spec.shape for spec in publisher.layout.tensors}
    publisher.publish(((name, torch.full(shape, 0.5).bfloat16()) for name, shape in shapes.items()), version_of(1))
    assert values_of(WeightReader(publisher.folder), version_of(1)) == {0.5}


def test_latest_and_the_one_before_can_be_read(
    publisher: WeightPublisher, state_of: StateOf, version_of: VersionOf
) -> None:
    reader = WeightReader(publisher.folder)
    assert reader.latest() is None
    assert reader.versions() == []
    for step in (1, 2, 3):
        publisher.publish(state_of(step), version_of(step))
    assert reader.latest() == version_of(3)
    assert reader.versions() == [version_of(2), version_of(3)]
    assert values_of(reader, version_of(2)) == {2.0}
    with pytest.raises(StoreError, match=r"must hold weights 0\.1, got 0\.2, 0\.3"):
        values_of(reader, version_of(1))


def test_more_buffers_keep_more_versions(tmp_path: Path, state_of: StateOf, version_of: VersionOf) -> None:
    shapes = {spec.name: spec.shape for spec in WeightLayout.of({"a": (7,)}).tensors}
    publisher = WeightPublisher(tmp_path, WeightLayout.of(shapes, num_buffers=4))
    for step in range(1, 8):
        publisher.publish(state_of(step, shapes), version_of(step))
    reader = WeightReader(tmp_path)
    assert reader.versions() == [version_of(step) for step in (4, 5, 6, 7)]
    assert values_of(reader, version_of(4)) == {4.0}
    publisher.close()


def test_copy_that_the_publisher_overwrote_is_thrown_away(
    publisher: WeightPublisher, state_of: StateOf, version_of: VersionOf
) -> None:
    reader = WeightReader(publisher.folder)
    publisher.publish(state_of(1), version_of(1))
    copies = []

    def slow(state: State) -> None:
        for index, (spec, view) in enumerate(state):
            if index == 3:  # after the checksum of the last tensor was compared, before it is copied
                publisher.publish(state_of(2), version_of(2))
                publisher.publish(state_of(3), version_of(3))
            copies.append((spec.name, bytes(view)))

    with pytest.raises(StoreError, match=r"must hold weights 0\.1, got 0\.2, 0\.3"):
        reader.read(version_of(1), slow)
    assert reader.num_torn == 1
    assert len(copies) == 4


def test_version_published_anew_during_a_copy_is_read_again(
    publisher: WeightPublisher, state_of: StateOf, version_of: VersionOf
) -> None:
    reader = WeightReader(publisher.folder)
    publisher.publish(state_of(1), version_of(1))
    tries: list[set[float]] = []

    def slow(state: State) -> None:
        seen: set[float] = set()
        for index, (spec, view) in enumerate(state):
            if index == 1 and not tries:
                publisher.publish(state_of(2), version_of(2))
                publisher.publish(state_of(9), version_of(1))
            seen |= set(view.cast("f")) if spec.num_bytes else set()
        tries.append(seen)

    reader.read(version_of(1), slow)
    assert tries == [{1.0, 9.0}, {9.0}]


def test_reader_gives_up_on_a_publisher_that_never_rests(
    publisher: WeightPublisher, state_of: StateOf, version_of: VersionOf
) -> None:
    publisher.publish(state_of(1), version_of(1))

    def hopeless(state: State) -> None:
        for _ in state:
            pass
        publisher.publish(state_of(2), version_of(2))
        publisher.publish(state_of(1), version_of(1))

    with pytest.raises(StoreError, match="got 3 torn copies"):
        WeightReader(publisher.folder).read(version_of(1), hopeless)


def test_failed_publication_leaves_the_latest_alone(
    publisher: WeightPublisher, state_of: StateOf, version_of: VersionOf
) -> None:
    reader = WeightReader(publisher.folder)
    publisher.publish(state_of(1), version_of(1))

    def dying() -> Iterator[tuple[str, Array]]:
        yield next(state_of(2))
        raise RuntimeError("out of memory")

    broken: list[tuple[Any, str]] = [
        (dying(), "out of memory"),
        (list(state_of(2))[:-1], "got no c"),
        ([*state_of(2), ("z", Array.of([1.0], "float32"))], "got z"),
        ([*state_of(2), *state_of(2)], "got a"),
        ([("a", Array.of([1.0] * 8, "float32"))], "must have shape"),
        ([("a", Array.of([1] * 7, "int32"))], "must be float32"),
    ]
    for state, text in broken:
        with pytest.raises((StoreError, RuntimeError), match=text):
            publisher.publish(state, version_of(2))
        assert reader.latest() == version_of(1)
        assert reader.versions() == [version_of(1)]
        assert values_of(reader, version_of(1)) == {1.0}
    publisher.publish(state_of(3), version_of(3))
    assert reader.versions() == [version_of(1), version_of(3)]


def test_publisher_that_comes_back_goes_on(
    tmp_path: Path, layout: WeightLayout, state_of: StateOf, version_of: VersionOf
) -> None:
    first = WeightPublisher(tmp_path, layout)
    first.publish(state_of(1), version_of(1))
    first.publish(state_of(2), version_of(2))
    reader = WeightReader(tmp_path)
    first.close()
    second = WeightPublisher(tmp_path, layout)
    assert values_of(reader, version_of(2)) == {2.0}
    second.publish(state_of(5), WeightVersion(1, 2))
    assert reader.versions() == [version_of(2), WeightVersion(1, 2)]
    assert values_of(reader, WeightVersion(1, 2)) == {5.0}
    second.close()


def test_publisher_that_died_before_it_moved_the_pointer_spares_what_readers_see(
    tmp_path: Path, layout: WeightLayout, state_of: StateOf, version_of: VersionOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = WeightPublisher(tmp_path, layout)
    first.publish(state_of(1), version_of(1))

    def killed(path: Path, data: bytes) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(publisher_module, "replace_file", killed)
        with pytest.raises(KeyboardInterrupt):
            first.publish(state_of(2), version_of(2))
    first.close()
    reader = WeightReader(tmp_path)
    assert reader.latest() == version_of(1)
    second = WeightPublisher(tmp_path, layout)

    def state() -> Iterator[tuple[str, Array]]:
        assert values_of(reader, version_of(1)) == {1.0}
        yield from state_of(3)

    second.publish(state(), version_of(3))
    assert reader.versions() == [version_of(1), version_of(3)]
    second.close()


def test_reader_finds_files_made_anew(
    tmp_path: Path, layout: WeightLayout, state_of: StateOf, version_of: VersionOf
) -> None:
    first = WeightPublisher(tmp_path, layout)
    first.publish(state_of(1), version_of(1))
    reader = WeightReader(tmp_path)
    first.close()
    for path in tmp_path.iterdir():
        path.unlink()
    second = WeightPublisher(tmp_path, layout)
    second.publish(state_of(4), version_of(4))
    assert values_of(reader, version_of(4)) == {4.0}
    second.close()
    reader.close()


def test_one_folder_has_one_publisher_and_one_layout(publisher: WeightPublisher, layout: WeightLayout) -> None:
    with pytest.raises(StoreError, match="must have one publisher"):
        WeightPublisher(publisher.folder, layout)
    publisher.close()
    with pytest.raises(StoreError, match="must keep its layout"):
        WeightPublisher(publisher.folder, WeightLayout.of({"other": (3,)}))
    with pytest.raises(StoreError, match="at least 2 buffers"):
        WeightLayout.of({"a": (1,)}, num_buffers=1)
    WeightPublisher(publisher.folder, layout).close()


def test_full_disk_is_an_error_and_no_bus_error(
    tmp_path: Path, layout: WeightLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, offset: int, length: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StoreError, match="must have room"):
        WeightPublisher(tmp_path, layout)


def test_folder_without_layout_or_buffers_is_refused(tmp_path: Path, publisher: WeightPublisher) -> None:
    with pytest.raises(StoreError, match="must have a layout"):
        WeightReader(tmp_path / "nowhere")
    publisher.layout.buffer_path(tmp_path, 1).unlink()
    with pytest.raises(StoreError, match="must have its buffers"):
        WeightReader(tmp_path)
    (tmp_path / "layout.json").write_text("{")
    with pytest.raises(StoreError, match="must be readable"):
        WeightReader(tmp_path)


def test_tensors_lie_apart_and_aligned(layout: WeightLayout) -> None:
    ends = [offset + spec.num_bytes for offset, spec in zip(layout.offsets, layout.tensors, strict=True)]
    assert all(offset % 64 == 0 for offset in layout.offsets)
    assert all(end <= after for end, after in zip(ends, [*layout.offsets[1:], layout.file_bytes], strict=True))
    assert TensorSpec("x", "float64", (2, 3)).num_bytes == 48
