"""The contract of an exporter: what was trained is what is written, whole or not at all."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from assay.core.array import Array
from assay.core.error import ConfigError
from assay.core.exporter import Exporter
from assay.core.leaf import Factory
from assay.runtime.testing.factory import FactoryContract
from assay.runtime.testing.policy import PolicyShelf


def _unset(folder: Path) -> Iterable[tuple[str, Any]]:
    raise TypeError("a contract of an exporter must set `read`, which reads an export back")


class ExporterContract(FactoryContract):
    """What holds of an exporter.

    Attributes:
        exporter: Its factory, called as `factory(**options)`.
        read: Reads an export back: name and values of each weight, as an `Array`, a numpy array or a tensor.
        tolerance: Largest difference of a weight, such as that of a smaller type.
    """

    kind = "exporter"
    exporter: ClassVar[Factory]
    read: ClassVar[Callable[[Path], Iterable[tuple[str, Any]]]] = _unset
    tolerance: ClassVar[float] = 0.0

    def test_what_is_read_back_is_what_was_written(self) -> None:
        """Every weight under its name, in its shape, with its values; none besides."""
        folder = self.new_folder()
        state = dict(self._shelf().state())
        self._write(folder, iter(state.items()))
        found = {name: _plain(value) for name, value in type(self).read(folder)}
        self.require(
            found.keys() == state.keys(), "an export must hold every weight", got=sorted(found.keys() ^ state.keys())
        )
        for name, array in state.items():
            shape, values = found[name]
            self.require(shape == array.shape, f"{name} must have shape {array.shape}", got=shape)
            gap = max(abs(a - b) for a, b in zip(values, array.to_list(), strict=True))
            self.require(gap <= self.tolerance, f"{name} must have its values", got=f"a difference of {gap:.3g}")

    def test_equal_weights_give_equal_files(self) -> None:
        """So that an export can be compared by its bytes."""
        first, second = self.new_folder(), self.new_folder()
        for folder in (first, second):
            self._write(folder, iter(self._shelf().state()))
        names = [sorted(str(path.relative_to(one)) for path in one.rglob("*")) for one in (first, second)]
        self.require(names[0] == names[1], "equal weights must give files of equal names", got=names)
        files = [name for name in names[0] if (first / name).is_file()]
        self.require(files, "an export must be files", got=names[0])
        other = [name for name in files if (first / name).read_bytes() != (second / name).read_bytes()]
        self.require(not other, "equal weights must give equal files", got=", ".join(other))

    def test_weights_are_taken_as_they_come(self) -> None:
        """In any order, and each once: nobody holds them all."""
        folder, backwards = self.new_folder(), self.new_folder()
        state = self._shelf().state()
        self._write(folder, iter(state))
        self._write(backwards, reversed(state))
        values = [{name: _plain(value) for name, value in type(self).read(one)} for one in (folder, backwards)]
        self.require(values[0] == values[1], "the order of the weights must not matter", got="other values")

    def test_weights_that_are_not_all_there_are_refused(self) -> None:
        """ConfigError for a missing one; `assay export` then leaves nothing behind."""
        state = self._shelf().state()
        try:
            self._write(self.new_folder(), iter(state[:-1]))
        except ConfigError:
            return
        self.broken(
            "an exporter must refuse weights that are not all there", got=f"nothing said without {state[-1][0]}"
        )

    def test_the_policy_it_came_from_stays_as_it_is(self) -> None:
        """Its folder is read, never written."""
        policy = self._shelf().policy()
        before = _files(policy)
        self._write(self.new_folder(), iter(self._shelf().state()))
        self.require(_files(policy) == before, "an export must not change its policy", got=sorted(_files(policy)))

    def _write(self, folder: Path, state: Iterator[tuple[str, Array]]) -> None:
        exporter: Exporter = self.make()
        exporter.write(folder, state, self._shelf().policy())

    def _shelf(self) -> PolicyShelf:
        return self.resource("shelf", lambda: PolicyShelf(self.new_folder))


def _plain(value: Any) -> tuple[tuple[int, ...], list[float]]:
    if isinstance(value, Array):
        return value.shape, [float(one) for one in value.to_list()]
    flat = value.reshape(-1)
    return tuple(value.shape), [float(one) for one in flat.tolist()]


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
