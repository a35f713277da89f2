"""Readers and publishers are killed in the middle of a copy, as real processes; the others do not notice."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.core.array import Array
from assay.core.trajectory import WeightVersion
from assay.runtime.weight.layout import WeightLayout
from assay.runtime.weight.publisher import WeightPublisher
from assay.runtime.weight.reader import State, WeightReader

StateOf = Callable[..., Iterator[tuple[str, Array]]]
VersionOf = Callable[[int], WeightVersion]

READER = """
import sys
from pathlib import Path
from assay.core.trajectory import WeightVersion
from assay.runtime.weight.reader import WeightReader

def take(state):
    next(state)
    print("copying", flush=True)
    sys.stdin.read()

WeightReader(Path(sys.argv[1])).read(WeightVersion(0, 1), take)
"""
PUBLISHER = """
import sys
from pathlib import Path
from assay.core.array import Array
from assay.core.trajectory import WeightVersion
from assay.runtime.weight.layout import WeightLayout
from assay.runtime.weight.publisher import WeightPublisher

def state():
    yield "a", Array.of([2.0] * 7, "float32")
    print("copying", flush=True)
    sys.stdin.read()

folder = Path(sys.argv[1])
WeightPublisher(folder, WeightLayout.read(folder / "layout.json")).publish(state(), WeightVersion(0, 2))
"""


def start(code: str, folder: Path) -> subprocess.Popen[str]:
    """Start a process and wait until it is in the middle of its copy."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "copying\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def values_of(reader: WeightReader, version: WeightVersion) -> set[float]:
    found: set[float] = set()

    def take(state: State) -> None:
        found.clear()
        for spec, view in state:
            found.update(view.cast("f") if spec.num_bytes else ())

    reader.read(version, take)
    return found


@pytest.mark.slow
def test_reader_killed_in_the_middle_harms_nobody(
    tmp_path: Path, layout: WeightLayout, state_of: StateOf, version_of: VersionOf
) -> None:
    publisher = WeightPublisher(tmp_path, layout)
    publisher.publish(state_of(1), version_of(1))
    kill(start(READER, tmp_path))
    other = WeightReader(tmp_path)
    assert values_of(other, version_of(1)) == {1.0}
    for step in (2, 3, 4):
        publisher.publish(state_of(step), version_of(step))
        assert values_of(other, version_of(step)) == {float(step)}
    publisher.close()


@pytest.mark.slow
def test_stopped_reader_holds_nobody_up(
    tmp_path: Path, layout: WeightLayout, state_of: StateOf, version_of: VersionOf
) -> None:
    publisher = WeightPublisher(tmp_path, layout)
    publisher.publish(state_of(1), version_of(1))
    process = start(READER, tmp_path)
    os.kill(process.pid, signal.SIGSTOP)
    for step in (2, 3, 4):
        publisher.publish(state_of(step), version_of(step))
    assert values_of(WeightReader(tmp_path), version_of(4)) == {4.0}
    kill(process)
    publisher.close()


@pytest.mark.slow
def test_publisher_killed_in_the_middle_leaves_the_last_version(
    tmp_path: Path, layout: WeightLayout, state_of: StateOf, version_of: VersionOf
) -> None:
    publisher = WeightPublisher(tmp_path, layout)
    publisher.publish(state_of(0), version_of(0))
    publisher.publish(state_of(1), version_of(1))
    publisher.close()
    reader = WeightReader(tmp_path)
    kill(start(PUBLISHER, tmp_path))
    assert reader.latest() == version_of(1)
    assert reader.versions() == [version_of(1)]
    assert values_of(reader, version_of(1)) == {1.0}
    again = WeightPublisher(tmp_path, layout)
    again.publish(state_of(7), WeightVersion(1, 2))
    assert values_of(reader, WeightVersion(1, 2)) == {7.0}
    assert reader.versions() == [version_of(1), WeightVersion(1, 2)]
    again.close()


@pytest.mark.slow
def test_every_copy_under_a_busy_publisher_is_of_one_version(
    tmp_path: Path, layout: WeightLayout, state_of: StateOf, version_of: VersionOf
) -> None:
    code = """
import itertools, sys
from pathlib import Path
from assay.core.array import Array
from assay.core.trajectory import WeightVersion
from assay.runtime.weight.layout import WeightLayout
from assay.runtime.weight.publisher import WeightPublisher

folder = Path(sys.argv[1])
layout = WeightLayout.read(folder / "layout.json")
publisher = WeightPublisher(folder, layout)
def state(value):
    for spec in layout.tensors:
        yield spec.name, Array("float32", spec.shape, Array.of([value] * (spec.num_bytes // 4), "float32").data)
for step in itertools.count(1):
    publisher.publish(state(float(step)), WeightVersion(0, step))
    if step == 2:
        print("copying", flush=True)
"""
    WeightPublisher(tmp_path, layout).close()
    process = start(code, tmp_path)
    reader = WeightReader(tmp_path)
    seen: set[int] = set()
    try:
        for _ in range(5000):
            if len(seen) == 60:
                break
            version = reader.latest()
            assert version is not None
            try:
                assert values_of(reader, version) == {float(version.step)}
            except Exception as error:
                assert "must hold" in str(error)
            else:
                seen.add(version.step)
        assert len(seen) == 60
    finally:
        kill(process)
