"""Trackers: what a run tells an experiment tracker, and what it may rely on.

A tracker lives in a process of its own, which reads the ledger beside the run: nothing it does, or fails to do, slows
or ends the run. Its factory is called as `factory(**options)` and only remembers them; `start` opens what there is to
open.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from assay.core.trajectory import WeightVersion


class RunInfo(msgspec.Struct, frozen=True):
    """What is known of a run before its first step.

    Attributes:
        name: Of the run.
        folder: Of the run; relative paths of options count from it.
        digest: Of everything that is computed; the same after a resumption.
        seed: Of everything random.
        domains: Digest of the compiled program, by mix entry.
        config: Composed configuration, as `conf/` names the keys.
        origins: Where each value came from, by dotted key: a file with its line, or an override with its number.
        dists: Version of every distribution that the run uses.
    """

    name: str
    folder: Path
    digest: str
    seed: int
    domains: Mapping[str, str]
    config: Mapping[str, Any]
    origins: Mapping[str, str]
    dists: Mapping[str, str]


class Position(msgspec.Struct, frozen=True):
    """How far a run was told.

    Attributes:
        version: `WeightVersion.pack` of the last step; -1 before the first.
        event: Number of the last event; 0 before the first.
    """

    version: int = -1
    event: int = 0


class Step(msgspec.Struct, frozen=True):
    """One committed step.

    Attributes:
        version: Its weights. A trainer that falls back to a checkpoint makes steps again, in a lineage of its own.
        at_s: Second of the run's clock, which stands still while no coordinator runs.
        metrics: By name, such as `loss`, `reward/spell`, `wait_s`.
    """

    version: WeightVersion
    at_s: float
    metrics: Mapping[str, float]


class Event(msgspec.Struct, frozen=True):
    """Something that happened to the run itself.

    Attributes:
        number: Rising.
        at_s: Second of the run's clock.
        what: Such as `worker_joined`, `stage_over`, `evaluated`, `starved`.
        detail: In words.
        is_alarm: Whether somebody should look.
        figures: Of `evaluated`: share of solved held-out tasks, by mix entry; empty otherwise.
    """

    number: int
    at_s: float
    what: str
    detail: str
    is_alarm: bool = False
    figures: Mapping[str, float] = {}


class Tracker(Protocol):
    """One tracker of one run; single-threaded.

    Steps come in the order of their versions, events in that of their numbers, none is left out. What was told before a
    `flush` that returned is never told again, also not after a kill. What was told after the last one is told again,
    unless `start` says that it arrived: a tracker that can ask its destination makes that exactly once.
    """

    def start(self, run: RunInfo, last: Position) -> Position:
        """Open; called again, in another process, for every part of a run that is resumed or whose tracker failed.

        Args:
            run: What is known of the run.
            last: How far it was told before the last `flush` that returned.

        Returns:
            Where to go on: `last`, or how far the destination says it was told.
        """
        ...

    def log(self, step: Step) -> None:
        """Take in a step."""
        ...

    def event(self, event: Event) -> None:
        """Take in an event."""
        ...

    def flush(self) -> None:
        """Return once everything taken in has arrived where a kill of this process does not reach it."""
        ...

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Close; everything was told.

        Args:
            summary: What `summary.json` holds. A drained run that is resumed starts and finishes again.
        """
        ...
