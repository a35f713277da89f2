"""Launchers: they start the processes of a run, keep them alive and leave none behind."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec


class ProcessSpec(msgspec.Struct, frozen=True):
    """One process of a run.

    Attributes:
        role: `coordinator`, `update`, `rollout`, `source` or `verify`.
        name: Such as `rollout-0`; unique in the run and the same after a restart.
        argv: Command, which takes no input.
        environ: Whole environment. `ASSAY_LAUNCHER_PID` in it names the process that makes the launcher: the command
            ends itself where its parent is another one. Who starts it elsewhere leaves the variable out.
        log: File that standard output and error are appended to.
    """

    role: str
    name: str
    argv: tuple[str, ...]
    environ: dict[str, str]
    log: Path


class Launch(msgspec.Struct, frozen=True):
    """What a launcher is made with.

    Attributes:
        folder: Of the run.
        address: Where the coordinator listens.
        processes: All of them, the coordinator first. The ranks of update are given `RANK`, `WORLD_SIZE`, `MASTER_ADDR`
            and `MASTER_PORT` by the launcher where there are several; they start, and start again, together.
    """

    folder: Path
    address: str
    processes: tuple[ProcessSpec, ...]


class Launcher(Protocol):
    """One run's launcher, made by `assay train` as `factory(launch, **options)`.

    Making one starts nothing: it is also made with nothing to launch, to see whether its options can be meant.
    """

    def run(self, tick: Callable[[], None] | None = None) -> int:
        """Start everything and return the coordinator's exit status when the run is over.

        A worker that ends with a failure is started again; one that ended in order, after a while, if the run is not
        over by then. A coordinator that ends by a signal is started again; a status of its own is the run's. When this
        returns or raises, no process of the run is alive.

        Args:
            tick: To be called about twice a second; what it raises ends the run.

        Raises:
            RunFailed: a process ended again and again right after its start.
        """
        ...

    def drain(self) -> None:
        """Ask the coordinator, by SIGTERM, to end the run in order; safe to call twice and from a signal handler."""
        ...

    def end(self) -> None:
        """End every process at once; safe to call twice."""
        ...
