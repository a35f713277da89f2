"""What marks say about the verifiers of a run.

Marks about success are compared with `success` and with every bool that a verifier measured, and with every score of a
judge, cut in the middle; marks about one signal with that signal; answers to a domain's own question with the verifiers
that are no people. Marks of the sample are weighted by stratum; those of disputed episodes, which were picked because
something disagreed, count in raw figures alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import msgspec

from assay.core.signal import SignalSpec, SignalValue
from assay.core.verdict import Scored
from assay.dsl.program import Program
from assay.runtime.coordinator.ledger import read_only
from assay.runtime.regrade.stored import Row, StoredRun
from assay.runtime.review.agreement import Agreement, Pair, agree, weigh
from assay.runtime.review.choice import SUCCESS
from assay.runtime.review.question import people_of
from assay.runtime.review.sample import Stratum, read_population
from assay.runtime.review.store import Mark

ENOUGH = 20
"""Marks below which nothing is said about a verifier."""

GOOD_SHARE, GOOD_KAPPA = 0.9, 0.4
"""What agrees in surely less than the first agrees badly; so does what is below both, with `ENOUGH` marks."""

Says = Literal["good", "bad", "too few marks", ""]


class Contradiction(msgspec.Struct, frozen=True):
    """An episode that people and a verifier judge differently."""

    episode: int
    mark: bool
    other: bool
    reviewers: tuple[str, ...]
    notes: tuple[str, ...]
    chosen: str


class Comparison(msgspec.Struct, frozen=True):
    """Marks of one domain against one thing that was measured.

    Attributes:
        entry: Of the mix.
        about: What the marks are about: `success`, `verifier.signal` or `question` of the domain.
        other: What they are compared with.
        agreement: Of both.
        says: Whether it agrees well enough; empty where nobody says that it should, as of an answer that parses.
        contradictions: Episodes on which they differ.
    """

    entry: str
    about: str
    other: str
    agreement: Agreement
    says: Says
    contradictions: tuple[Contradiction, ...]


class AgreementReport(msgspec.Struct, frozen=True):
    """Everything marks say.

    Attributes:
        marks: How many there are, by reviewer.
        passed: How many were passed over, by reviewer.
        sampled: Marked episodes of the sample.
        disputed: Marked episodes that were picked because something disagreed.
        answered: Questions that were answered.
        unseen: Domains and outcomes of which no mark is of the sample, so that weighted figures know nothing of them.
        split: Episodes whose reviewers hold each other in balance; they count in no comparison.
        comparisons: By domain, success first.
        between: Agreement of reviewers with each other, on episodes that two of them marked.
        scores: Means of answers on a scale or of yes, by domain.
    """

    marks: dict[str, int]
    passed: dict[str, int]
    sampled: int
    disputed: int
    answered: int
    unseen: tuple[str, ...]
    split: tuple[int, ...]
    comparisons: tuple[Comparison, ...]
    between: Agreement
    scores: dict[str, float]

    @property
    def is_bad(self) -> bool:
        """Whether some verifier agrees badly."""
        return any(one.says == "bad" for one in self.comparisons)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


class Judged(msgspec.Struct, frozen=True):
    """What people say of one episode in one matter: the mean of their marks; None where they are in balance."""

    episode: int
    about: str
    marks: tuple[Mark, ...]

    @property
    def value(self) -> float:
        """Mean of the marks."""
        return sum(mark.value or 0.0 for mark in self.marks) / len(self.marks)

    @property
    def is_good(self) -> bool | None:
        """Whether it is good; None where the marks are in balance."""
        return None if len(self.marks) > 1 and self.value == 0.5 else self.value >= 0.5

    @property
    def chosen(self) -> str:
        """Why it was shown; being of the sample goes before the rest."""
        reasons = {mark.chosen for mark in self.marks}
        return next(reason for reason in ("sample", "question", "dispute") if reason in reasons)


def gather(marks: Sequence[Mark]) -> list[Judged]:
    """Return what people say, by episode and matter."""
    found: dict[tuple[int, str], list[Mark]] = {}
    for mark in marks:
        if mark.value is not None:
            found.setdefault((mark.episode, mark.about), []).append(mark)
    return [Judged(episode, about, tuple(group)) for (episode, about), group in sorted(found.items())]


def report_agreement(run: StoredRun, marks: Sequence[Mark], entries: Sequence[str] = ()) -> AgreementReport:
    """Compare marks with what was measured.

    Args:
        run: Opened for reading.
        marks: Kept ones, with those that were passed over.
        entries: Of the mix; empty for all.
    """
    programs = {one.name: one.program for one in run.plan.entries if not entries or one.name in entries}
    rows = {episode: run.find(episode) for episode in {mark.episode for mark in marks}}
    known = {episode: row for episode, row in rows.items() if row is not None and row.entry in programs}
    marks = [mark for mark in marks if mark.episode in known]
    judged = gather(marks)
    ledger = read_only(run.folder.ledger)
    try:
        population = {key: len(found) for key, found in read_population(ledger, list(programs)).items()}
    finally:
        ledger.close()
    given = [mark for mark in marks if mark.value is not None]
    return AgreementReport(
        dict(sorted(Counter(mark.reviewer for mark in given).items())),
        dict(sorted(Counter(mark.reviewer for mark in marks if mark.value is None).items())),
        sum(one.chosen == "sample" for one in judged),
        sum(one.chosen == "dispute" for one in judged),
        sum(one.chosen == "question" for one in judged),
        tuple(stratum.name for stratum in sorted(population) if stratum not in _seen(judged, known)),
        tuple(one.episode for one in judged if one.is_good is None),
        tuple(_compare(programs, known, judged, population)),
        _between(judged),
        _scores(judged, known),
    )


def _compare(
    programs: Mapping[str, Program],
    rows: Mapping[int, Row],
    judged: Sequence[Judged],
    population: Mapping[Stratum, int],
) -> list[Comparison]:
    found: dict[tuple[str, str, str], list[tuple[Judged, Stratum, bool]]] = {}
    order: dict[tuple[str, str, str], None] = {}
    for one in judged:
        row = rows[one.episode]
        verdict = None if row.verdict_text is None else row.verdict
        if one.is_good is None or not isinstance(verdict, Scored):
            continue
        program = programs[row.entry]
        about = one.about if one.about == SUCCESS or "." in one.about else "question"
        stratum = Stratum(row.entry, verdict.payout.success)
        for other, value in _others(program, verdict, about):
            key = (row.entry, about, other)
            order[key] = None
            found.setdefault(key, []).append((one, stratum, value))
    return [
        _comparison(key, found[key], population) for key in sorted(order, key=lambda k: (k[0], k[1] != SUCCESS, k[1]))
    ]


def _others(program: Program, verdict: Scored, about: str) -> list[tuple[str, bool]]:
    """Return what marks about something are compared with, as a yes or no each."""
    found: list[tuple[str, bool]] = []
    # What people answered decides about success, which so is no second opinion.
    if about == SUCCESS and not people_of(program):
        found.append((SUCCESS, verdict.payout.success))
    for name, measurement in verdict.measurements.items():
        verify = program.verify.get(name)
        if verify is None or verify.tier == "human":
            continue
        for signal, spec in verify.signals.items():
            if about not in (SUCCESS, "question") and about != f"{name}.{signal}":
                continue
            is_named = about == f"{name}.{signal}"
            told = _as_bool(spec, measurement.signals.get(signal), is_named or verify.tier == "judge")
            if told is not None and (is_named or signal != "agreement"):
                found.append((f"{name}.{signal}{told[0]}", told[1]))
    return found


def _as_bool(spec: SignalSpec, value: SignalValue, has_middle: bool) -> tuple[str, bool] | None:
    """Return how a signal reads as a yes or no, and whether it does; None where it is none."""
    if isinstance(value, bool):
        return ("", value) if spec.better != "down" else (" is false", not value)
    lo, hi = spec.kind.lo, spec.kind.hi
    if not has_middle or lo is None or hi is None or not isinstance(value, (int, float)) or spec.better == "neither":
        return None
    middle = (lo + hi) / 2
    return (f" >= {middle:g}", value >= middle) if spec.better == "up" else (f" < {middle:g}", value < middle)


def _comparison(
    key: tuple[str, str, str], found: Sequence[tuple[Judged, Stratum, bool]], population: Mapping[Stratum, int]
) -> Comparison:
    drawn = Counter(stratum.name for one, stratum, _ in found if one.chosen == "sample")
    weights = weigh(drawn, {stratum.name: count for stratum, count in population.items()})
    sampled = [
        Pair(bool(one.is_good), value, weights[stratum.name]) for one, stratum, value in found if one.chosen == "sample"
    ]
    picked = [Pair(bool(one.is_good), value) for one, _, value in found if one.chosen != "sample"]
    agreement = agree(sampled, picked)
    contradictions = tuple(
        Contradiction(
            one.episode,
            bool(one.is_good),
            value,
            tuple(mark.reviewer for mark in one.marks),
            tuple(mark.note for mark in one.marks if mark.note),
            one.chosen,
        )
        for one, _, value in found
        if one.is_good != value
    )
    entry, about, other = key
    # Only success, and a signal the marks are about, promise to say the same as people.
    is_meant = about == other == SUCCESS or (about != "question" and other.startswith(about))
    says: Says = judge(agreement, len(sampled)) if is_meant else ""
    return Comparison(entry, about, other, agreement, says, contradictions)


def judge(agreement: Agreement, num_sampled: int) -> Says:
    """Say whether something agrees well enough with people; marks outside the sample prove nothing about a run."""
    if agreement.share is None:
        return "too few marks"
    if num_sampled >= ENOUGH // 2 and agreement.interval[1] < GOOD_SHARE:
        return "bad"
    if num_sampled < ENOUGH:
        return "too few marks"
    # Where nearly all answers are right, a single difference leaves little beyond chance: kappa alone says nothing.
    is_chance = agreement.kappa is not None and agreement.kappa < GOOD_KAPPA
    return "bad" if is_chance and agreement.share < GOOD_SHARE else "good"


def _seen(judged: Sequence[Judged], rows: Mapping[int, Row]) -> set[Stratum]:
    found = set()
    for one in judged:
        row = rows[one.episode]
        verdict = None if row.verdict_text is None else row.verdict
        if one.chosen == "sample" and isinstance(verdict, Scored):
            found.add(Stratum(row.entry, verdict.payout.success))
    return found


def _between(judged: Sequence[Judged]) -> Agreement:
    pairs = [
        Pair((a.value or 0.0) >= 0.5, (b.value or 0.0) >= 0.5)
        for one in judged
        for a, b in combinations(sorted(one.marks, key=lambda mark: mark.reviewer), 2)
    ]
    return agree(pairs)


def _scores(judged: Sequence[Judged], rows: Mapping[int, Row]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for one in judged:
        values.setdefault(rows[one.episode].entry, []).append(one.value)
    return {entry: sum(found) / len(found) for entry, found in sorted(values.items())}
