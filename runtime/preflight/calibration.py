"""Calibration: how well verifications agree with answers that people have marked, before they may judge anything.

Each marked answer goes through the answer parser and the one verification that is calibrated, in the locked-down
processes of a run; the reward plays no part. A row that cannot be measured counts as neither kept nor broken: unless
the agreement is out of reach even if all such rows held, it "could not be tried", which starts no run either.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.error import AssayError
from assay.core.registry import Registry
from assay.core.source import Source
from assay.dsl.calibration import Mark, read_mark
from assay.dsl.domain import open_source
from assay.dsl.program import Calibration, Program, Rows
from assay.runtime.preflight.control import played
from assay.runtime.run.argument import bind
from assay.runtime.source.rows import Rows as RowsInMemory
from assay.runtime.verify.grade import Rubric
from assay.runtime.verify.host import Outcome, VerifierHost
from assay.runtime.verify.message import Job

_PARSER = ""
_WAIT_S = 1.0
# Rows that a message names.
_MAX_NAMED = 5


class Marked(msgspec.Struct, frozen=True):
    """A domain whose verifications are calibrated.

    Attributes:
        name: Under which agreements name it; unique.
        rubric: What grades it.
        sources: Marked answers, by name under `verify:`.
        problems: Why rows cannot be read, by name under `verify:`.
    """

    name: str
    rubric: Rubric
    sources: dict[str, Source]
    problems: dict[str, str]


class Agreement(msgspec.Struct, frozen=True):
    """How one verification agreed with its marked answers.

    Attributes:
        subject: Name of its domain.
        verify: Name under `verify:`.
        expected: Such as `>= 0.8`.
        held: Rows whose every expectation holds.
        broken: Rows with one that does not.
        lost: Rows that could not be measured.
        problem: What does not hold, with rows; empty where the agreement is met.
        is_lost: The problem is that rows could not be measured.
    """

    subject: str
    verify: str
    expected: str
    held: int
    broken: int
    lost: int
    problem: str
    is_lost: bool = False

    @property
    def share(self) -> float:
        """Rows that hold over rows that were measured."""
        return self.held / max(1, self.held + self.broken)


def marked(name: str, rubric: Rubric, base: Path, registry: Registry) -> Marked:
    """Return a program with its marked answers opened.

    Args:
        name: For messages.
        rubric: What grades it.
        base: Folder that relative paths of its sources start from.
        registry: What is installed.
    """
    program = rubric.program
    sources: dict[str, Source] = {}
    problems: dict[str, str] = {}
    for verify, calibration in calibrations(program).items():
        data = calibration.data
        try:
            if isinstance(data, Rows):
                sources[verify] = RowsInMemory(data.rows)
            else:
                leaf = registry.find("source", data.leaf).value
                sources[verify] = open_source(leaf, data, dict(program.params), base, "eval")
        except Exception as error:  # a source is a package's code; whatever it raises on being opened
            problems[verify] = f"DA001: a source must open, got {_describe(error)}"
    return Marked(name, rubric, sources, problems)


def calibrations(program: Program) -> Mapping[str, Calibration]:
    """Return a program's calibrations, by name under `verify:`."""
    return {} if program.calibration is msgspec.UNSET else program.calibration


def try_calibrations(subjects: Sequence[Marked], host: VerifierHost) -> list[Agreement]:
    """Measure every marked answer of every subject; the host stays open.

    Args:
        subjects: Their verifiers are started here.
        host: With boxes and a judge where a verifier wants one.

    Raises:
        PluginError: a plugin does not load in its worker.
        ConfigError: a verifier asks a judge and none is chosen.
    """
    bench = _Bench(host)
    agreements = []
    tried: list[tuple[Marked, str, list[Mark], list[int], str]] = []
    for subject in subjects:
        for verify in calibrations(subject.rubric.program):
            marks, problem = _read(subject, verify)
            cases = [] if problem else bench.submit(subject.rubric, verify, marks)
            tried.append((subject, verify, marks, cases, problem))
    bench.finish()
    for subject, verify, marks, cases, problem in tried:
        agreements.append(_agreement(subject, verify, marks, [bench.outcomes[case] for case in cases], problem))
    return agreements


class _Bench:
    """Runs parser and verification of marked answers on a host."""

    def __init__(self, host: VerifierHost) -> None:
        self.host = host
        self.outcomes: dict[int, Outcome] = {}
        self._cases: list[tuple[Rubric, str, Mark]] = []
        self._jobs: dict[int, tuple[int, str]] = {}
        self._num_jobs = 0

    def submit(self, rubric: Rubric, verify: str, marks: Sequence[Mark]) -> list[int]:
        """Begin to measure answers; returns their numbers."""
        wanted = {rubric.uses[name][1] for name in (verify, _PARSER) if name in rubric.uses}
        self.host.start([ref for ref in rubric.refs if ref.ref in wanted])
        first = len(self._cases)
        self._cases += [(rubric, verify, mark) for mark in marks]
        for case in range(first, len(self._cases)):
            self._run(case, _PARSER if _PARSER in rubric.uses else verify, self._cases[case][2].answer)
        return list(range(first, len(self._cases)))

    def finish(self) -> None:
        """Wait for all outcomes."""
        while self._jobs:
            for outcome in self.host.poll(_WAIT_S):
                case, name = self._jobs.pop(outcome.job_id)
                if name != _PARSER:
                    self.outcomes[case] = outcome
                elif outcome.measurement is not None or outcome.is_timeout:
                    answer = None if outcome.measurement is None else outcome.measurement.signals["answer"]
                    self._run(case, self._cases[case][1], answer if isinstance(answer, str) else None)
                else:
                    self.outcomes[case] = outcome

    def _run(self, case: int, name: str, answer: str | None) -> None:
        rubric, _, mark = self._cases[case]
        use, ref = rubric.uses[name]
        episode = played(rubric.program, mark.answer, mark.task)
        trace = msgspec.structs.replace(episode.trace, parsed=answer is not None)
        episode = msgspec.structs.replace(episode, answer=answer, trace=trace)
        self._num_jobs += 1
        self._jobs[self._num_jobs] = (case, name)
        arguments = bind(use, rubric.program.params, mark.task)
        self.host.submit(Job(self._num_jobs, ref, arguments, answer, episode, sandbox=rubric.sandbox))


def _read(subject: Marked, verify: str) -> tuple[list[Mark], str]:
    """Return the marked answers, or why they cannot be had."""
    if verify in subject.problems:
        return [], subject.problems[verify]
    program, source = subject.rubric.program, subject.sources[verify]
    marks = []
    try:
        for index in range(len(source)):
            mark = read_mark(source.read(index), program.fields, program.verify[verify].signals, verify)
            if isinstance(mark, str):
                return [], f"DA001: marks[{index}] {mark}"
            marks.append(mark)
    except Exception as error:  # a source is a package's code; whatever it raises is a row that cannot be read
        return [], f"DA001: marks[{len(marks)}] must be readable, got {_describe(error)}"
    return marks, "" if marks else "DA001: a calibration must have rows, got none"


def _agreement(subject: Marked, verify: str, marks: list[Mark], outcomes: list[Outcome], problem: str) -> Agreement:
    calibration = calibrations(subject.rubric.program)[verify]
    expected = f"{calibration.sign} {calibration.agreement:g}"
    if problem:
        return Agreement(subject.name, verify, expected, 0, 0, 0, problem)
    broken, lost = [], []
    for index, (mark, outcome) in enumerate(zip(marks, outcomes, strict=True)):
        if outcome.measurement is None:
            lost.append(f"marks[{index}] {outcome.cause}: {outcome.detail}")
            continue
        signals = outcome.measurement.signals
        missed = [f"{one}, got {signals[one.signal]!r}" for one in mark.expect if not one.holds(signals[one.signal])]
        if missed:
            broken.append(f"marks[{index}] {' and '.join(missed)}")
    held = len(marks) - len(broken) - len(lost)
    counts = subject.name, verify, expected, held, len(broken), len(lost)
    if not _is_met(calibration, held + len(lost), len(marks)):
        share = held / max(1, held + len(broken))
        got = f"agreement must be {expected}, got {share:.3g} ({held} of {held + len(broken)} rows)"
        return Agreement(*counts, f"{got}: {_named(broken)}")
    if lost:
        return Agreement(*counts, f"{len(lost)} of {len(marks)} rows could not be tried: {_named(lost)}", is_lost=True)
    return Agreement(*counts, "")


def _is_met(calibration: Calibration, held: int, total: int) -> bool:
    share = held / total
    # Counting rows is exact: 4 of 5 are 0.8.
    return share > calibration.agreement if calibration.sign == ">" else share >= calibration.agreement - 1e-9


def _named(rows: list[str]) -> str:
    more = f"; and {len(rows) - _MAX_NAMED} more" if len(rows) > _MAX_NAMED else ""
    return "; ".join(rows[:_MAX_NAMED]) + more


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
