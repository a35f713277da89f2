"""The audit of a run for `summary.json` and the report: the fold over its ledger, and what its canaries came to.

It is the fold that the coordinator made while the run went on, so it tells the alarms that stand in the log, with the
figures behind them as they are at the end.
"""

import contextlib
import sqlite3
from typing import Any

import msgspec

from assay.core.error import AssayError
from assay.runtime.audit.finding import Judgement, Subject, judge_canary
from assay.runtime.audit.replay import replay
from assay.runtime.audit.stream import Audit
from assay.runtime.coordinator.ledger import has_answers, read_only
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.run.coordination import thresholds
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import RunPlan

_STEP_MASK = (1 << 40) - 1
# Answers that are looked up and shown, and how much of each.
_MAX_ANSWERS, _MAX_ANSWER = 20, 300


def audit_run(plan: RunPlan, folder: RunFolder) -> dict[str, Any]:
    """Return the audit by entry.

    Returns:
        Per entry `figures`, `terms` (a list of `TermRow`), `findings` in the order they began (`name`, `subject`,
        `text`, `figures`, `episode`, `answer`, `from_step`, `to_step`; None where one stands at the end) and `canaries`
        (`rows`, `graded`, `solved`).

    Raises:
        StoreError: there is no ledger.
    """
    with contextlib.closing(read_only(folder.ledger)) as db:
        at = thresholds(plan)
        audits = {entry.name: Audit(Subject(tuple(entry.ranges), entry.ranges), at) for entry in plan.entries}
        findings: dict[str, list[dict[str, Any]]] = {name: [] for name in audits}
        for entry, alarm in replay(db.execute, audits, has_answers=has_answers(db)):
            step = _step(db, alarm.group)
            if alarm.is_on:
                findings[entry].append(_finding(alarm.judgement, step))
                continue
            one = alarm.judgement
            for found in findings[entry]:
                if (found["name"], found["subject"], found["to_step"]) == (one.name, one.subject, None):
                    found["to_step"] = step
        canaries = {name: _canaries(db, name, findings[name]) for name in audits}
    for told in findings.values():
        told.sort(key=lambda one: one["from_step"])
    _add_answers(folder, findings)
    return {
        name: {
            "figures": audit.figures(),
            "terms": [msgspec.structs.asdict(row) for row in audit.rows()] if audit.total.groups else [],
            "findings": findings[name],
            "canaries": canaries[name],
        }
        for name, audit in audits.items()
    }


def _finding(one: Judgement, step: int) -> dict[str, Any]:
    return {
        "name": one.name,
        "subject": one.subject,
        "text": one.text,
        "figures": one.figures,
        "episode": one.episode,
        "answer": None,
        "from_step": step,
        "to_step": None,
    }


def _step(db: sqlite3.Connection, group: int) -> int:
    """Return the step of the weights that a group was planned under."""
    return int(db.execute(f"SELECT oldest & {_STEP_MASK} FROM grp WHERE grp = ?", (group,)).fetchone()[0])


def _canaries(db: sqlite3.Connection, entry: str, findings: list[dict[str, Any]]) -> dict[str, int]:
    """Count canaries, and add a finding for each that was solved."""
    rows = db.execute(
        "SELECT g.idx, s.episode, v.success, g.oldest FROM grp g JOIN submission s ON s.grp = g.grp "
        "JOIN verdict v ON v.episode = s.episode WHERE g.entry = ? AND g.split = 'canary' AND v.reward IS NOT NULL "
        "ORDER BY s.episode",
        (entry,),
    ).fetchall()
    solved: set[int] = set()
    for index, episode, success, oldest in rows:
        if success and index not in solved:
            solved.add(index)
            findings.append(_finding(judge_canary(index, episode), int(oldest) & _STEP_MASK))
    return {"rows": len({row[0] for row in rows}), "graded": len(rows), "solved": len(solved)}


def _add_answers(folder: RunFolder, findings: dict[str, list[dict[str, Any]]]) -> None:
    """Say what the episodes of findings answered, where the store still has them."""
    wanted = [one for found in findings.values() for one in found if one["episode"] >= 0]
    # Canaries before all: the answer to one is how the grader was cheated.
    wanted.sort(key=lambda one: one["name"] != "canary")
    if not wanted:
        return
    with contextlib.suppress(AssayError), StoredRun(folder) as run:
        for one in wanted[:_MAX_ANSWERS]:
            with contextlib.suppress(AssayError):
                row = run.find(one["episode"])
                answer = None if row is None else run.played(row).answer
                if answer is not None:
                    one["answer"] = answer[:_MAX_ANSWER] + ("..." if len(answer) > _MAX_ANSWER else "")
