"""A run's stored episodes, read only: what they were asked, what was measured, what they were paid."""

import sqlite3
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import msgspec

from assay.core.array import Array
from assay.core.blob import BlobRef
from assay.core.error import StoreError
from assay.core.registry import resolve
from assay.core.signal import SignalValue
from assay.core.store import Store
from assay.core.task import Task
from assay.core.trajectory import Trace, Trajectory
from assay.core.verdict import Verdict
from assay.dsl.recall import StoredEpisode
from assay.runtime.coordinator.ledger import read_only
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import RunPlan, read_plan

_verdict = msgspec.json.Decoder(Verdict).decode
_trace = msgspec.json.Decoder(Trace).decode
_COLUMNS = (
    "e.episode, g.grp, e.sibling, g.entry, g.split, g.idx, g.evaluation, e.state, e.version, e.reward, e.verdict, "
    "e.trace, e.trajectory, t.blob"
)
_FROM = (
    "FROM episode e JOIN grp g USING (grp) "
    "LEFT JOIN task t ON t.entry = g.entry AND t.split = g.split AND t.idx = g.idx"
)


class Row(msgspec.Struct, frozen=True, array_like=True):
    """One episode of a ledger; `verdict`, `trace` and `trajectory` are None until there is one."""

    episode: int
    grp: int
    sibling: int
    entry: str
    split: str
    index: int
    evaluation: str
    state: str
    version: int | None
    reward: float | None
    verdict_text: str | None
    trace_text: str | None
    trajectory: bytes | None
    task: bytes | None

    @property
    def verdict(self) -> Verdict:
        """As it was graded."""
        assert self.verdict_text is not None
        return _verdict(self.verdict_text)

    @property
    def trace(self) -> dict[str, SignalValue]:
        """Signals `trace.*`."""
        assert self.trace_text is not None
        return msgspec.structs.asdict(_trace(self.trace_text))


class StoredRun:
    """A run's folder, opened for reading.

    Args:
        folder: Of the run.

    Raises:
        ConfigError: it is no run's.
        StoreError: its ledger cannot be read.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.plan: RunPlan = read_plan(folder.path)
        self._db: sqlite3.Connection = read_only(folder.ledger)
        self._store: Store | None = None
        self._tasks: dict[bytes, Mapping[str, Any]] = {}

    def __enter__(self) -> "StoredRun":
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()
        if self._store is not None:
            self._store.close()

    def graded(self, entry: str) -> Iterator[Row]:
        """Yield the episodes of one entry that have a verdict, in order."""
        sql = f"SELECT {_COLUMNS} {_FROM} WHERE g.entry = ? AND e.verdict IS NOT NULL ORDER BY e.episode"
        return (Row(*row) for row in self._db.execute(sql, (entry,)))

    def find(self, episode: int) -> Row | None:
        """Return one episode; None where the run never planned it."""
        row = self._db.execute(f"SELECT {_COLUMNS} {_FROM} WHERE e.episode = ?", (episode,)).fetchone()
        return None if row is None else Row(*row)

    def held_out(self) -> Iterator[list[Row]]:
        """Yield the episodes of each held-out task of an evaluation that is through with it, in order."""
        sql = f"SELECT {_COLUMNS} {_FROM} WHERE g.state = 'evaluated' AND g.split = 'eval' ORDER BY g.grp, e.sibling"
        rows = (Row(*row) for row in self._db.execute(sql))
        for _, siblings in groupby(rows, key=lambda row: row.grp):
            yield list(siblings)

    def group(self, grp: int) -> list[Row]:
        """Return the siblings of a group."""
        sql = f"SELECT {_COLUMNS} {_FROM} WHERE g.grp = ? ORDER BY e.sibling"
        return [Row(*row) for row in self._db.execute(sql, (grp,))]

    def num_waiting(self, entry: str) -> int:
        """Return how many episodes of an entry have no verdict."""
        sql = f"SELECT COUNT(*) {_FROM} WHERE g.entry = ? AND e.verdict IS NULL"
        return int(self._db.execute(sql, (entry,)).fetchone()[0])

    def fields(self, row: Row) -> Mapping[str, Any]:
        """Return the fields of an episode's task.

        Raises:
            StoreError: its body is gone.
        """
        if row.task is None:
            raise StoreError("an episode must have its task in the store", at=f"episode {row.episode}")
        if row.task not in self._tasks:
            self._tasks[row.task] = self.task(row).fields
        return self._tasks[row.task]

    def task(self, row: Row) -> Task:
        """Return an episode's task."""
        assert row.task is not None
        return msgspec.msgpack.decode(self._read(row.task), type=Task)

    def played(self, row: Row) -> Trajectory:
        """Return an episode's trajectory.

        Raises:
            StoreError: it is gone.
        """
        if row.trajectory is None:
            raise StoreError("an episode must have its trajectory in the store", at=f"episode {row.episode}")
        return msgspec.msgpack.decode(self._read(row.trajectory), type=Trajectory)

    def stored(self, row: Row, *, needs_fields: bool = True) -> StoredEpisode:
        """Return what decides about an edit."""
        return StoredEpisode(row.split, self.fields(row) if needs_fields else {}, row.trace, row.verdict)

    def advantages(self, episodes: list[int]) -> dict[int, float]:
        """Return the advantages that episodes were trained with; those of the newest lineage."""
        wanted = set(episodes)
        found: dict[int, float] = {}
        for (packed,) in self._db.execute("SELECT advantages FROM commits ORDER BY version"):
            if packed:
                numbers, values = msgspec.msgpack.decode(packed, type=tuple[Array, Array])
                pairs = zip(numbers.to_list(), values.to_list(), strict=True)
                found |= {int(number): float(value) for number, value in pairs if number in wanted}
        return found

    def to_advantages(self, entry: str, rewards: list[float]) -> list[float]:
        """Return the advantages that the run's algorithm gives siblings of one group.

        Without an algorithm, as in an evaluation, rewards are centred.
        """
        ref = self.plan.factories.get("algorithm")
        if ref is None:
            mean = sum(rewards) / len(rewards)
            return [reward - mean for reward in rewards]
        algorithm = resolve(ref)(**self.plan.settings["algorithm"]["options"])
        return [float(value) for value in algorithm.advantages([(entry, rewards)])[0]]

    def _read(self, packed: bytes) -> bytes:
        store = self._store
        if store is None:
            options = self.plan.settings["store"]["options"]
            store = self._store = resolve(self.plan.factories["store"])(self.folder.blobs, None, **options)
        assert store is not None
        return store.get(msgspec.msgpack.decode(packed, type=BlobRef))
