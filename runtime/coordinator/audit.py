"""The reward audit as the core keeps it: groups in, alarms into the log.

An alarm lies in the transaction that holds the verdict that raised it, and so does what was passed over. What the audit
knows is rebuilt from verdicts, so a run that is killed and resumed logs each alarm once.
"""

from collections.abc import Callable, Sequence

from assay.runtime.audit.finding import Judgement, judge_canary
from assay.runtime.audit.replay import replay
from assay.runtime.audit.stream import Alarm, Audit
from assay.runtime.coordinator import record
from assay.runtime.coordinator.instruction import Instruction
from assay.runtime.coordinator.ledger import Ledger
from assay.runtime.coordinator.state import Episode, Group, Run

RAISED, OVER = "audit", "audit_over"
"""Names of the events in the log."""


def plan(run: Run, group: Group) -> None:
    """A training group was planned."""
    run.audits[group.entry.name].plan(group.number)


def end(run: Run, out: list[Instruction], group: Group, scored: Sequence[Episode]) -> None:
    """A training group is verified.

    Args:
        run: Changed.
        out: Takes the alarms.
        group: The group.
        scored: Its scored siblings.
    """
    _tell(run, out, group, lambda audit: audit.end(group.number, group.index, scored))


def skip(run: Run, out: list[Instruction], group: Group) -> None:
    """A training group was taken back."""
    _tell(run, out, group, lambda audit: audit.skip(group.number))


def canary(run: Run, out: list[Instruction], episode: Episode) -> None:
    """A canary was graded: log the first success on each."""
    group = episode.group
    at = (group.entry.name, group.index)
    if episode.success and at not in run.canaries:
        run.canaries.add(at)
        out.append(record.log(RAISED, line(group.entry.name, judge_canary(group.index, episode.number)), run.now_s))


def standing(run: Run, entry: str) -> tuple[str, ...]:
    """Return the names of the findings of an entry that stand."""
    names = {name for name, _ in run.audits[entry].raised}
    if any(name == entry for name, _ in run.canaries):
        names.add("canary")
    return tuple(sorted(names))


def read(run: Run, ledger: Ledger) -> None:
    """Rebuild the audits from a ledger; what they raise on the way was logged."""
    replay(ledger.rows, run.audits)
    rows = ledger.rows(
        "SELECT DISTINCT g.entry, g.idx FROM grp g JOIN submission s ON s.grp = g.grp "
        "JOIN verdict v ON v.episode = s.episode WHERE g.split = 'canary' AND v.success"
    )
    run.canaries.update((entry, index) for entry, index in rows)


def line(entry: str, one: Judgement) -> str:
    """Return a finding as the log has it."""
    what = f"{one.name} {one.subject}" if one.subject else one.name
    shown = f"; see episode {one.episode}" if one.episode >= 0 else ""
    return f"{entry} {what}: {one.text}{shown}"


def _tell(run: Run, out: list[Instruction], group: Group, take: Callable[[Audit], Sequence[Alarm]]) -> None:
    audit = run.audits[group.entry.name]
    num_passed = len(audit.passed)
    for alarm in take(audit):
        what = RAISED if alarm.is_on else OVER
        out.append(record.log(what, line(group.entry.name, alarm.judgement), run.now_s))
    out += [record.passed(number) for number in audit.passed[num_passed:]]
