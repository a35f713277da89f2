"""Marks in place of what was measured: the signal of a `human` verifier, or success where a domain asks nobody."""

from collections.abc import Mapping, Sequence

import msgspec

from assay.core.error import StoreError, VerifierFault
from assay.core.verdict import Measurement, Scored, Unscored, Verdict
from assay.dsl.expr.function import BUILTIN, Entry
from assay.dsl.expr.node import Truth
from assay.dsl.program import Program
from assay.dsl.reduce import Grader
from assay.runtime.regrade.stored import Row, StoredRun
from assay.runtime.review.choice import SUCCESS
from assay.runtime.review.question import SIGNAL, asked_of, people_of
from assay.runtime.review.report import Judged, gather
from assay.runtime.review.store import Mark


class Override(msgspec.Struct, frozen=True):
    """What people put in place of what was measured.

    Attributes:
        episode: Number in the ledger.
        what: `success`, or `verifier.mark`.
        before: As it was measured; None where it was not.
        after: As people say.
        reason: Who said so, and what they noted.
    """

    episode: int
    what: str
    before: float | None
    after: float
    reason: str


class Overrides:
    """Marks of a run, ready to be put in place.

    Args:
        run: Opened for reading.
        marks: Kept ones.
        program: That grades now.
        functions: Functions that its expressions may call.
    """

    def __init__(
        self, run: StoredRun, marks: Sequence[Mark], program: Program, functions: Mapping[str, Entry] = BUILTIN
    ) -> None:
        self._run = run
        self._program = program
        self._people = people_of(program)
        self._judged: dict[int, dict[str, Judged]] = {}
        for one in gather(marks):
            self._judged.setdefault(one.episode, {})[one.about] = one
        self._grader = Grader(program, functions)
        fixed = {
            value: msgspec.structs.replace(
                program, reward=msgspec.structs.replace(program.reward, success=Truth(value))
            )
            for value in (True, False)
        }
        self._fixed = {value: Grader(changed, functions) for value, changed in fixed.items()}

    def apply(self, row: Row, verdict: Verdict) -> tuple[Verdict, tuple[Override, ...]]:
        """Return the verdict of an episode with its marks in place; the same one where it has none that count.

        An episode that misses what no person says keeps its verdict.
        """
        judged = self._judged.get(row.episode)
        if not judged:
            return verdict, ()
        try:
            fields = self._run.fields(row)
        except StoreError:
            return verdict, ()
        return (
            self._by_people(row, verdict, judged, fields)
            if self._people
            else self._by_success(row, verdict, judged, fields)
        )

    def _by_people(
        self, row: Row, verdict: Verdict, judged: Mapping[str, Judged], fields: Mapping[str, object]
    ) -> tuple[Verdict, tuple[Override, ...]]:
        measured, overrides = dict(verdict.measurements), []
        for name in self._people:
            use = self._program.verify[name].use
            question = asked_of(self._program, name, fields)
            one = judged.get(question.id) or judged.get(f"{name}.{SIGNAL}")
            if one is None:
                continue
            old = measured.get(name)
            before = None if old is None else float(old.signals[SIGNAL])  # type: ignore[arg-type]
            if before == one.value:
                continue
            ref = self._run.plan.entry(row.entry).leaves.get(use.leaf, use.leaf)
            measured[name] = Measurement(ref, use.version, {SIGNAL: one.value})
            overrides.append(Override(row.episode, f"{name}.{SIGNAL}", before, one.value, reason(one)))
        if not overrides:
            return verdict, ()
        found = self._grade(self._grader, row, measured, fields)
        return (verdict, ()) if found is None else (found, tuple(overrides))

    def _by_success(
        self, row: Row, verdict: Verdict, judged: Mapping[str, Judged], fields: Mapping[str, object]
    ) -> tuple[Verdict, tuple[Override, ...]]:
        one = judged.get(SUCCESS)
        if one is None or one.is_good is None or not isinstance(verdict, Scored):
            return verdict, ()
        before = verdict.payout.success
        if before == one.is_good:
            return verdict, ()
        found = self._grade(self._fixed[one.is_good], row, verdict.measurements, fields)
        if found is None:
            return verdict, ()
        if isinstance(found, Scored):
            # Behind a closed gate the reward stays what the gate pays; success is what people say.
            found = msgspec.structs.replace(found, payout=msgspec.structs.replace(found.payout, success=one.is_good))
        return found, (Override(row.episode, SUCCESS, float(before), float(one.is_good), reason(one)),)

    def _grade(
        self, grader: Grader, row: Row, measured: Mapping[str, Measurement], fields: Mapping[str, object]
    ) -> Verdict | None:
        """Return a verdict; None where something was not measured."""
        signals = {"trace": row.trace, **{name: one.signals for name, one in measured.items()}}
        try:
            if grader.needs(signals, fields):
                return None
            payout = grader.payout(signals, fields)
        except (VerifierFault, ArithmeticError, ValueError, TypeError) as error:
            return Unscored("verifier_fault", str(error), measurements=dict(measured))
        return Scored(dict(measured), payout, self._program.digest, self._program.digests["reward"])


def reason(one: Judged) -> str:
    """Return who marked an episode how, and what they noted."""
    parts = [f"{mark.reviewer} {mark.value:g}" + (f" ({mark.note})" if mark.note else "") for mark in one.marks]
    return f"marked by {', '.join(parts)}"
