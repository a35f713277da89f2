"""The contract of a tracker: everything it is told arrives, in order and once, whatever is killed.

What arrived is read back by a function of the author's. That a tracker which fails or hangs leaves its run alone is no
clause: the run sees to that.
"""

import json
import math
import os
import pkgutil
import signal
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from assay.core.leaf import Factory
from assay.core.tracker import Event, Position, RunInfo, Step, Tracker
from assay.core.trajectory import WeightVersion
from assay.runtime.testing.factory import FactoryContract, run_code
from assay.runtime.tracker.stream import advance

Key = tuple[int, int] | int
"""Of a step (lineage, step), of an event its number."""


def _unset(folder: Path) -> list[Key]:
    raise TypeError("a contract of a tracker must set `told`, which reads back what arrived")


class TrackerContract(FactoryContract):
    """What holds of a tracker.

    Attributes:
        tracker: Its factory, called as `factory(**options)`.
        told: Returns what arrived from the run in a folder, oldest first: (lineage, step) for a step, the number for an
            event.
        is_exact: `start` knows what arrived. False: what was told after the last flush before a kill may come twice.
    """

    kind = "tracker"
    tracker: ClassVar[Factory]
    told: ClassVar[Callable[[Path], list[Key]]] = _unset
    is_exact: ClassVar[bool] = True

    def test_making_it_opens_nothing(self) -> None:
        """A run makes one before it starts, to see whether its options can be meant; nothing arrives from that."""
        before = set(os.listdir())
        self.make()
        self.require(before == set(os.listdir()), "making a tracker must open nothing", got=set(os.listdir()) - before)

    def test_everything_arrives_in_order_and_once(self) -> None:
        """Steps in the order of their versions, events in that of their numbers."""
        folder = self.new_folder()
        self._tell(folder, RECORDS)
        self._require_told(folder, RECORDS)

    def test_a_step_made_again_in_another_lineage_arrives_too(self) -> None:
        """A trainer that falls back makes steps again: the same number, another lineage, neither is lost."""
        folder = self.new_folder()
        records: list[Step | Event] = [_step(0, 1), _step(0, 2), _event(1), _step(1, 2), _step(1, 3)]
        self._tell(folder, records)
        self._require_told(folder, records)

    def test_whatever_the_figures_are_the_rest_arrives(self) -> None:
        """NaN, infinity, long and odd names, words of all alphabets, no metrics at all."""
        folder = self.new_folder()
        records: list[Step | Event] = [
            Step(WeightVersion(0, 1), 1.0, {"loss": math.nan, "grad_norm": math.inf, "kl": -math.inf}),
            Step(WeightVersion(0, 2), 2.0, {"reward/späti 日本": 1.0, "a" * 200: 0.5, "with space, = and \"": 1e300}),
            Step(WeightVersion(0, 3), 3.0, {}),
            Event(1, 3.5, "fault", "rollout-0: \n'\" \u2028 ÄÖ" + "x" * 5000, is_alarm=True),
            Event(2, 4.0, "evaluated", "after at 0.3", figures={"spell": 0.25}),
        ]  # fmt: skip
        self._tell(folder, records)
        self._require_told(folder, records)

    def test_a_run_that_is_resumed_goes_on(self) -> None:
        """Finished, then started again with more to tell: `start` says where, and the former part is still there."""
        folder = self.new_folder()
        self._tell(folder, RECORDS[:4])
        last = _position(RECORDS[:4])
        again = self._tell(folder, RECORDS, last)
        self.require(again == last, "start must say where to go on", got=again)
        self._require_told(folder, RECORDS)

    def test_after_a_kill_nothing_is_missing_and_nothing_stands_twice(self) -> None:
        """Told three records and a flush, then one more, then killed by SIGKILL; another process goes on.

        Where the tracker is not exact, the one after the flush may stand twice.
        """
        folder = self.new_folder()
        code = "import sys; from assay.runtime.testing.tracker import die; die(*sys.argv[1:])"
        done = run_code(code, self.plugin.object_name, json.dumps(dict(self.options)), str(folder))
        self.require(
            done.returncode == -signal.SIGKILL,
            "a tracker must work in a process of its own",
            got=done.stderr.decode(errors="replace").strip().splitlines()[-1:],
        )
        last = _position(RECORDS[:3])
        start = self._tell(folder, RECORDS, last)
        known = (last, _position(RECORDS[:4]))
        self.require(start in known, "start must say how far the run was told", got=start)
        if self.is_exact:
            self._require_told(folder, RECORDS)
        else:
            keys = type(self).told(folder)
            twice = [key for key in keys if keys.count(key) > 1 and key != _key(RECORDS[3])]
            self.require(not twice, "what was flushed must not stand twice", got=twice)
            self._require_told(folder, RECORDS, list(dict.fromkeys(keys)))

    def _tell(self, folder: Path, records: Iterable[Step | Event], last: Position = Position()) -> Position:  # noqa: B008
        """Tell a part of a run from where the tracker says; returns that."""
        tracker: Tracker = self.make()
        start = tracker.start(run_info(folder), last)
        for record in records:
            if _is_after(record, start):
                _hand(tracker, record)
        tracker.flush()
        tracker.finish({"updates": 3, "trainer_idle": None, "episodes": {"dropped": {}}})
        return start

    def _require_told(self, folder: Path, records: Iterable[Step | Event], keys: list[Key] | None = None) -> None:
        found = type(self).told(folder) if keys is None else keys
        for kind, is_step in (("steps", True), ("events", False)):
            expected = [_key(record) for record in records if isinstance(record, Step) is is_step]
            actual = [key for key in found if isinstance(key, tuple) is is_step]
            self.require(expected == actual, f"the {kind} {expected} must arrive in order and once", got=actual)


def run_info(folder: Path) -> RunInfo:
    """Return what is known of a run in a folder."""
    return RunInfo(
        name="testing",
        folder=folder,
        digest="ab" * 32,
        seed=1,
        domains={"spell": "cd" * 32},
        config={"trainer": {"name": "megatron", "lr": 1e-3}, "run": {"name": None}},
        origins={"trainer.lr": "trainer/megatron.yaml:2"},
        dists={"assay-rl": "0.1.0"},
    )


def die(target: str, options: str, folder: str) -> None:
    """Tell a tracker three records and flush, one more, and end as if killed."""
    tracker: Tracker = pkgutil.resolve_name(target)(**json.loads(options))
    tracker.start(run_info(Path(folder)), Position())
    for record in RECORDS[:3]:
        _hand(tracker, record)
    tracker.flush()
    _hand(tracker, RECORDS[3])
    os.kill(os.getpid(), signal.SIGKILL)


def _step(lineage: int, step: int) -> Step:
    metrics: Mapping[str, float] = {"loss": 1.0 / step, "reward/spell": 0.5}
    return Step(WeightVersion(lineage, step), 10.0 * lineage + step, metrics)


def _event(number: int) -> Event:
    return Event(number, 0.5 + number, "phase", f"part {number}")


RECORDS: list[Step | Event] = [_event(1), _step(0, 1), _step(0, 2), _event(2), _step(0, 3), _event(3)]


def _hand(tracker: Tracker, record: Step | Event) -> None:
    if isinstance(record, Step):
        tracker.log(record)
    else:
        tracker.event(record)


def _is_after(record: Step | Event, position: Position) -> bool:
    if isinstance(record, Step):
        return record.version.pack() > position.version
    return record.number > position.event


def _position(records: Iterable[Step | Event]) -> Position:
    position = Position()
    for record in records:
        position = advance(position, record)
    return position


def _key(record: Step | Event) -> Key:
    if isinstance(record, Step):
        return (record.version.lineage, record.version.step)
    return record.number
