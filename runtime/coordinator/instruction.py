"""What the core is told and what it orders.

Events are past facts, instructions are orders. The loop carries out all `Write`s in one transaction before any `Send`.
"""

from typing import Any, Literal

import msgspec

from assay.core.wire import Order, Report

Statement = Literal[
    "meta",
    "task",
    "grp",
    "planned",
    "lost",
    "rolled",
    "verdict",
    "state",
    "batch",
    "commits",
    "checkpoint",
    "weights",
    "quarantine",
    "evaluation",
    "log",
]


class Received(msgspec.Struct, frozen=True, gc=False):
    """A worker said something; `sequence` above 0 wants an acknowledgement."""

    peer: bytes
    sequence: int
    report: Report


class Drained(msgspec.Struct, frozen=True, gc=False):
    """The socket is empty for now: time to expire leases, plan, schedule and acknowledge."""


class DrainRequested(msgspec.Struct, frozen=True, gc=False):
    """Somebody wants the run to end in order."""

    reason: str


Event = Received | Drained | DrainRequested


class Send(msgspec.Struct, frozen=True, gc=False):
    """Tell a worker."""

    peer: bytes
    order: Order


class Write(msgspec.Struct, frozen=True, gc=False):
    """Put one row into the ledger; `statement` names the SQL, and statements run in the order they are listed above."""

    statement: Statement
    row: tuple[Any, ...]


class Finish(msgspec.Struct, frozen=True, gc=False):
    """End the loop with an exit code."""

    code: int
    reason: str


Instruction = Send | Write | Finish
