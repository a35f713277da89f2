"""The audit of a ledger: the very fold that the coordinator made, from the verdicts it wrote down.

A group counts once all its siblings are verified or were dropped for a reason of their own; what was taken back before
(a stage that ended, a task in quarantine) never counts, however many of its siblings were scored, nor does what was
passed over (`meta`, `audit:GROUP`).
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from assay.core.trajectory import Trace
from assay.runtime.audit.stream import Alarm, Audit

Rows = Callable[[str], Iterable[tuple[Any, ...]]]

_terms = msgspec.json.Decoder(dict[str, float]).decode
_trace = msgspec.json.Decoder(Trace).decode
TAKEN_BACK = ("stage_over", "quarantined", "cancelled")
"""Reasons of episodes whose whole group was taken back, where they have no verdict."""


class StoredPlay(msgspec.Struct, frozen=True):
    """One scored training episode of a ledger; see `assay.runtime.audit.fold.Play`."""

    number: int
    reward: float
    success: bool
    terms: dict[str, float]
    tokens: int
    turns: int
    is_truncated: bool
    answer: int


def replay(rows: Rows, audits: Mapping[str, Audit], *, has_answers: bool = True) -> list[tuple[str, Alarm]]:
    """Feed the training groups of a ledger to the audits of their entries.

    Args:
        rows: Yields the rows of a query.
        audits: By entry; fresh ones. Groups of other entries are passed over.
        has_answers: The ledger holds digests of answers.

    Returns:
        Entry and alarm, in the order of the groups.
    """
    answer = "r.answer" if has_answers else "0"
    query = (
        "SELECT g.grp, g.entry, g.idx, g.state, s.episode, s.reason, v.episode, v.reward, v.success, v.terms, r.trace, "
        f"{answer} FROM grp g JOIN submission s ON s.grp = g.grp LEFT JOIN verdict v ON v.episode = s.episode "
        "LEFT JOIN rollout r ON r.episode = s.episode WHERE g.stage >= 0 ORDER BY g.grp, s.sibling"
    )
    passed = {int(name.partition(":")[2]) for (name,) in rows("SELECT name FROM meta WHERE name LIKE 'audit:%'")}
    found: list[tuple[str, Alarm]] = []
    for number, siblings in groupby(rows(query), key=itemgetter(0)):
        members = list(siblings)
        _, entry, task, state, *_ = members[0]
        audit = audits.get(entry)
        if audit is None:
            continue
        audit.plan(number)
        if number in passed:
            found += [(entry, alarm) for alarm in audit.pass_over(number)]
            continue
        if state == "open":
            continue
        if any(verdict is None and reason in TAKEN_BACK for _, _, _, _, _, reason, verdict, *_ in members):
            alarms = audit.skip(number)
        else:
            alarms = audit.end(number, task, [_play(row) for row in members if row[7] is not None])
        found += [(entry, alarm) for alarm in alarms]
    return found


def _play(row: tuple[Any, ...]) -> StoredPlay:
    trace = _trace(row[10])
    return StoredPlay(row[4], row[7], bool(row[8]), _terms(row[9]), trace.tokens, trace.turns, trace.truncated, row[11])
