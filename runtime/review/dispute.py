"""Episodes that are looked at because their verifiers disagree.

* A judge or a person says otherwise than a program: their scores lie at least `GAP` apart.
* A judge says otherwise than `success`.
* A judge does not agree with itself: its signal `agreement` is below a bound.
* Siblings gave the same answer, and one succeeded and one did not.

Only the newest verdicts are looked at: what an old policy did is less worth a look than a sample.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from assay.core.signal import SignalSpec, SignalValue
from assay.core.verdict import Scored, Verdict
from assay.dsl.program import Program, Verify

GAP = 0.5
LEAST_AGREEMENT = 0.7
_RECENT_VERDICTS, _RECENT_GROUPS = 20_000, 200

_decode = msgspec.json.Decoder(Verdict).decode


def score(verify: Verify, signals: Mapping[str, SignalValue]) -> float | None:
    """Return what one verification says, in [0, 1] with 1 better; None where no signal of it has a better end.

    That is the first one it declares with such an end. `agreement` is how sure it is, not what it says.
    """
    for name, spec in verify.signals.items():
        place = None if name == "agreement" else goodness(spec, signals.get(name))
        if place is not None:
            return place
    return None


def goodness(spec: SignalSpec, value: SignalValue) -> float | None:
    """Return where a value lies between the worse and the better end of its signal; None where it has none."""
    if spec.better == "neither" or not isinstance(value, (bool, int, float)):
        return None
    if spec.kind.name == "bool":
        place = float(value)
    elif spec.kind.lo is not None and spec.kind.hi is not None and spec.kind.lo < spec.kind.hi:
        place = (float(value) - spec.kind.lo) / (spec.kind.hi - spec.kind.lo)
    else:
        return None
    return place if spec.better == "up" else 1.0 - place


def is_disputed(program: Program, verdict: Verdict, least_agreement: float = LEAST_AGREEMENT) -> bool:
    """Whether the verifiers of one episode disagree, or one with itself."""
    if not isinstance(verdict, Scored):
        return False
    exact: list[float] = []
    opinions: list[float] = []
    for name, measurement in verdict.measurements.items():
        verify = program.verify.get(name)
        if verify is None:
            continue
        agreement = measurement.signals.get("agreement")
        if verify.tier == "judge" and isinstance(agreement, (int, float)) and agreement < least_agreement:
            return True
        found = score(verify, measurement.signals)
        if found is not None:
            (exact if verify.tier == "auto" else opinions).append(found)
    if opinions:
        exact.append(float(verdict.payout.success))
    return any(abs(one - other) >= GAP for one in opinions for other in [*exact, *opinions])


def find_disputes(
    ledger: sqlite3.Connection,
    programs: Mapping[str, Program],
    answer_of: Callable[[int], str | None],
    least_agreement: float = LEAST_AGREEMENT,
) -> list[int]:
    """Return disputed episodes, in order.

    Args:
        ledger: Of the run.
        programs: By entry.
        answer_of: The answer of an episode; None where it cannot be read.
        least_agreement: Below which a judge does not agree with itself.
    """
    found: set[int] = set()
    judged = [name for name, program in programs.items() if any(v.tier != "auto" for v in program.verify.values())]
    if judged:
        marks = ", ".join("?" * len(judged))
        for episode, entry, text in ledger.execute(
            "SELECT e.episode, g.entry, e.verdict FROM episode e JOIN grp g USING (grp) "
            f"WHERE e.reward IS NOT NULL AND g.entry IN ({marks}) ORDER BY e.episode DESC LIMIT {_RECENT_VERDICTS}",
            judged,
        ):
            if is_disputed(programs[entry], _decode(text), least_agreement):
                found.add(episode)
    for siblings in _mixed_groups(ledger, programs):
        found |= _unequal(siblings, answer_of)
    return sorted(found)


def _mixed_groups(ledger: sqlite3.Connection, entries: Iterable[str]) -> list[list[tuple[int, bool]]]:
    """Return the newest groups in which some siblings succeeded and some did not."""
    names = list(entries)
    marks = ", ".join("?" * len(names))
    groups = ledger.execute(
        "SELECT e.grp FROM episode e JOIN grp g USING (grp) WHERE e.reward IS NOT NULL AND e.trajectory IS NOT NULL "
        f"AND g.entry IN ({marks}) GROUP BY e.grp HAVING MIN(e.success) < MAX(e.success) "
        f"ORDER BY e.grp DESC LIMIT {_RECENT_GROUPS}",
        names,
    ).fetchall()
    sql = "SELECT episode, success FROM episode WHERE grp = ? AND reward IS NOT NULL AND trajectory IS NOT NULL"
    return [[(episode, bool(success)) for episode, success in ledger.execute(sql, group)] for group in groups]


def _unequal(siblings: Sequence[tuple[int, bool]], answer_of: Callable[[int], str | None]) -> set[int]:
    by_answer: dict[str, dict[bool, list[int]]] = {}
    for episode, success in siblings:
        answer = answer_of(episode)
        if answer is not None:
            by_answer.setdefault(answer.strip(), {}).setdefault(success, []).append(episode)
    return {
        episode
        for outcomes in by_answer.values()
        if len(outcomes) == 2
        for episodes in outcomes.values()
        for episode in episodes
    }
