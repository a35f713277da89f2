"""Questions to a ledger, while its run goes on or after."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.lifecycle import Counts
from assay.core.trajectory import WeightVersion
from assay.runtime.coordinator.ledger import read_only
from assay.runtime.coordinator.record import Standing
from assay.runtime.coordinator.share import fractions, read_accounts

_STEP_MASK = (1 << 40) - 1


class Accuracy(msgspec.Struct, frozen=True):
    """Success on held-out tasks; unscored episodes count in nothing."""

    solved: float
    scored: int

    @property
    def share(self) -> float | None:
        """Solved over scored; None where nothing was scored."""
        return self.solved / self.scored if self.scored else None


class Share(msgspec.Struct, frozen=True):
    """What an entry should get and got since the targets last changed; None before anything was played or booked.

    `num_alarms` counts how often in the whole run it began to starve.
    """

    target: float | None
    realised: float | None
    num_alarms: int


class CommitRow(msgspec.Struct, frozen=True):
    """One committed step."""

    version: WeightVersion
    metrics: Mapping[str, float]
    wait_s: float
    busy_s: float
    at_s: float


class Reading:
    """A read-only handle.

    Args:
        ledger: Its file.

    Raises:
        StoreError: there is no ledger.
    """

    def __init__(self, ledger: Path) -> None:
        self._db: sqlite3.Connection = read_only(ledger)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> "Reading":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def counts(self) -> Counts:
        """Return what became of all episodes."""
        counts = Counts(dropped={})
        for state, reason, number in self._db.execute(
            "SELECT state, CASE state WHEN 'dropped' THEN reason ELSE '' END, COUNT(*) FROM episode GROUP BY 1, 2"
        ):
            counts.submitted += number
            if state == "trained":
                counts.trained += number
            elif state == "evaluated":
                counts.evaluated += number
            elif state == "dropped":
                counts.dropped[reason] = number
            else:
                counts.in_flight += number
        return counts

    def accuracies(self) -> dict[str, dict[str, Accuracy]]:
        """Return accuracy by evaluation and entry."""
        found: dict[str, dict[str, Accuracy]] = {}
        for evaluation, entry, solved, scored in self._db.execute(
            "SELECT g.evaluation, g.entry, SUM(e.success), COUNT(e.reward) FROM episode e JOIN grp g USING (grp) "
            "WHERE g.evaluation != '' AND g.split = 'eval' AND e.state = 'evaluated' GROUP BY 1, 2"
        ):
            found.setdefault(evaluation, {})[entry] = Accuracy(int(solved or 0), scored)
        return found

    def held_out(self) -> dict[str, int]:
        """Return how many held-out tasks of each entry have a scored answer, in the evaluation that has most."""
        found: dict[str, int] = {}
        for entry, tasks in self._db.execute(
            "SELECT g.entry, COUNT(DISTINCT g.grp) FROM episode e JOIN grp g USING (grp) "
            "WHERE g.evaluation != '' AND g.split = 'eval' AND e.state = 'evaluated' AND e.reward IS NOT NULL "
            "GROUP BY g.evaluation, 1"
        ):
            found[entry] = max(found.get(entry, 0), tasks)
        return found

    def evaluations(self) -> dict[str, WeightVersion]:
        """Return the version of each evaluation that is done, in the order they were."""
        rows = self._db.execute("SELECT name, version FROM evaluation WHERE state = 'done' ORDER BY at_s")
        return {name: WeightVersion.unpack(version) for name, version in rows}

    def num_commits(self) -> int:
        """Return how many steps were committed; a step of several lineages counts once."""
        (number,) = self._db.execute(f"SELECT COUNT(DISTINCT version & {_STEP_MASK}) FROM commits").fetchone()
        return int(number)

    def commits(self, after: int = -1, limit: int = -1) -> list[CommitRow]:
        """Return commits whose packed version is above `after`, in order; at most `limit`, where it is not negative."""
        rows = self._db.execute(
            "SELECT version, metrics, wait_s, busy_s, at_s FROM commits WHERE version > ? ORDER BY version LIMIT ?",
            (after, limit),
        )
        return [CommitRow(WeightVersion.unpack(row[0]), json.loads(row[1]), *row[2:]) for row in rows]

    def has_checkpoint(self) -> bool:
        """Whether the ledger vouches for a checkpoint."""
        return self._db.execute("SELECT 1 FROM checkpoint LIMIT 1").fetchone() is not None

    def checkpoints(self) -> dict[WeightVersion, Path]:
        """Return the folders of all checkpoints, oldest first."""
        rows = self._db.execute("SELECT version, folder FROM checkpoint ORDER BY version")
        return {WeightVersion.unpack(version): Path(folder) for version, folder in rows}

    def is_finished(self) -> bool:
        """Whether nothing of the curriculum is left."""
        row = self._db.execute("SELECT 1 FROM log WHERE what = 'stop' AND detail = 'finished' LIMIT 1").fetchone()
        return row is not None

    def trajectory(self, episode: str) -> bytes | None:
        """Return the packed reference of an episode's trajectory; None where it has none."""
        row = self._db.execute(
            "SELECT trajectory FROM episode WHERE episode = CAST(? AS INTEGER)", (episode,)
        ).fetchone()
        return None if row is None else row[0]

    def first_verdict(self) -> tuple[int, str]:
        """Return number and verdict, as JSON, of the first episode that has one; -1 where none has."""
        row = self._db.execute("SELECT episode, verdict FROM episode WHERE verdict IS NOT NULL ORDER BY 1").fetchone()
        return (-1, "") if row is None else (int(row[0]), str(row[1]))

    def idle_share(self) -> float | None:
        """Return the part of the time from first batch to last commit that the trainer was blocked in Take."""
        first = self._db.execute("SELECT taken_s FROM batch ORDER BY step LIMIT 1").fetchone()
        commits = self.commits()
        if first is None or not commits:
            return None
        span_s = max(commit.at_s for commit in commits) - first[0]
        # What came before the first batch is not in the span.
        waited_s = sum(commit.wait_s for commit in commits[1:])
        return min(1.0, waited_s / span_s) if span_s > 0 else None

    def lag(self) -> tuple[float, int] | None:
        """Return mean and largest staleness of trained episodes, in updates; None where none was trained."""
        mean, largest = self._db.execute(
            f"SELECT AVG(lag), MAX(lag) FROM (SELECT MAX(0, g.step - 1 - (e.version & {_STEP_MASK})) AS lag "
            "FROM episode e JOIN grp g USING (grp) WHERE e.state = 'trained')"
        ).fetchone()
        return None if mean is None else (float(mean), int(largest))

    def shares(self, entries: Sequence[str], balance: str) -> dict[str, Share]:
        """Return target and realised share per entry.

        Args:
            entries: Of the mix.
            balance: What a share is a share of.
        """
        row = self._db.execute("SELECT value FROM meta WHERE name = 'curriculum'").fetchone()
        standing = None if row is None else msgspec.json.decode(row[0], type=Standing)
        target = {} if standing is None else standing.target
        since = 0 if standing is None else standing.books_from
        accounts = read_accounts(self._db.execute, balance, since)
        units = {name: account.units for name, account in accounts.items() if name in entries}
        got = fractions(units, entries)
        alarms = [detail.partition(":")[0] for _, _, what, detail in self.log() if what == "starved"]
        return {
            name: Share(
                target.get(name) if target else None, got[name] if any(units.values()) else None, alarms.count(name)
            )
            for name in entries
        }

    def queues(self) -> dict[str, int]:
        """Return how many episodes wait or are worked on, by the stage they are in."""
        rows = dict(
            self._db.execute(
                "SELECT state, COUNT(*) FROM episode WHERE state NOT IN ('trained', 'evaluated', 'dropped') GROUP BY 1"
            ).fetchall()
        )
        return {
            "rollout": rows.get("planned", 0) + rows.get("rolling", 0),
            "verify": rows.get("rolled", 0) + rows.get("verifying", 0),
            "group": rows.get("scored", 0) + rows.get("unscored", 0) + rows.get("grouped", 0),
            "update": rows.get("batched", 0),
        }

    def log(self, after: int = 0) -> list[tuple[int, float, str, str]]:
        """Return number, second, event and detail of what happened to the run itself."""
        return self._db.execute("SELECT n, at_s, what, detail FROM log WHERE n > ? ORDER BY n", (after,)).fetchall()

    def failed_rows(self) -> list[tuple[str, str, int, str, str]]:
        """Return entry, split, row, reason and detail of rows that could not be made."""
        sql = "SELECT entry, split, idx, failure, detail FROM task WHERE failure != '' ORDER BY 1, 2, 3"
        return self._db.execute(sql).fetchall()

    def unscored(self) -> dict[str, int]:
        """Return how many verdicts are unscored, by cause."""
        rows = self._db.execute("SELECT verdict FROM episode WHERE verified_s IS NOT NULL AND reward IS NULL")
        found: dict[str, int] = {}
        for (text,) in rows:
            cause = _cause(json.loads(text))
            found[cause] = found.get(cause, 0) + 1
        return found

    def pass_rates(self) -> list[tuple[str, int, float]]:
        """Return entry, step of the weights that sampled, and share of success over all scored training episodes."""
        return self._db.execute(
            f"SELECT g.entry, e.version & {_STEP_MASK} AS step, AVG(e.success) FROM episode e JOIN grp g USING (grp) "
            "WHERE g.evaluation = '' AND e.reward IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()


def _cause(verdict: Any) -> str:
    # An array-like tagged struct: the tag, then the fields.
    return str(verdict[1]) if isinstance(verdict, list) else str(verdict.get("cause", "unknown"))
