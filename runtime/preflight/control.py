"""Controls: answers whose reward is known, graded end to end by the real verifiers in their locked-down processes.

A control that cannot be graded at all is no proof of anything: it fails too, and says what kept it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assay.core.episode import Episode
from assay.core.error import AssayError, VerifierFault
from assay.core.leaf import Verifier
from assay.core.message import Message
from assay.core.registry import Registry
from assay.core.source import Source
from assay.core.trajectory import Trace
from assay.core.verdict import Scored, Verdict
from assay.core.wire import Split
from assay.dsl.compile import Compiled
from assay.dsl.domain import open_source
from assay.dsl.expr.function import Entry
from assay.dsl.program import Control, Program, Rows
from assay.dsl.rows import check_row
from assay.dsl.template import fill
from assay.runtime.preflight.example import miss
from assay.runtime.review.desk import NOBODY
from assay.runtime.source.rows import Rows as RowsInMemory
from assay.runtime.verify.grade import GradeDesk, Rubric, mode_of
from assay.runtime.verify.host import VerifierHost
from assay.runtime.verify.message import Mode

# Causes that say nothing about the grader.
_LOST = ("infra", "sandbox_lost", "cancelled")
_WAIT_S = 1.0


class Subject(msgspec.Struct, frozen=True):
    """A domain whose controls are to be tried.

    Attributes:
        name: Under which trials name it; unique.
        rubric: What grades it.
        split: Which rows fill its controls.
        source: Those rows.
    """

    name: str
    rubric: Rubric
    split: Split
    source: Source


class Trial(msgspec.Struct, frozen=True):
    """How one control went over the rows that were tried.

    Attributes:
        subject: Name of its subject.
        control: Its own name.
        expected: Such as `> 0.99`.
        rewards: Of each row that was scored.
        problem: The first thing that does not hold, with its row; empty where all holds.
        is_lost: The problem is the machine's, not the grader's.
        note: Why nothing could be tried where that is nobody's fault: people are asked.
    """

    subject: str
    control: str
    expected: str
    rewards: tuple[float, ...]
    problem: str
    is_lost: bool = False
    note: str = ""


def subject_of(name: str, compiled: Compiled, registry: Registry, functions: Mapping[str, Entry]) -> Subject:
    """Return a compiled domain as a subject, over its rows of `eval`, or of `train` where it has no such split.

    Raises:
        SourceError: it does not compile.
        PluginError: a leaf is not there.
        Exception: whatever its source raises on being opened.
    """
    program = compiled.require()
    uses = [verify.use for verify in program.verify.values()]
    verifiers: dict[str, Verifier] = {use.leaf: registry.find("verifier", use.leaf).value for use in uses}
    leaves = {leaf: registry.find("verifier", leaf).ref for leaf in verifiers}
    if program.answer is not None:
        leaves[program.answer.leaf] = registry.find("parser", program.answer.leaf).ref
    modes: dict[str, Mode] = {leaf: mode_of(verifier) for leaf, verifier in verifiers.items()}
    split = control_split(program)
    data = program.data[split]
    if isinstance(data, Rows):
        source: Source = RowsInMemory(data.rows)
    else:
        leaf = registry.find("source", data.leaf).value
        source = open_source(leaf, data, dict(program.params), compiled.base, split)
    return Subject(name, Rubric(program, leaves, modes, functions), split, source)


def control_split(program: Program) -> Split:
    """Return the split whose rows fill a program's controls."""
    return "eval" if "eval" in program.data else "train"


def try_controls(subjects: Sequence[Subject], host: VerifierHost, num_rows: int) -> list[Trial]:
    """Grade every control of every subject on its first rows; the host stays open.

    Args:
        subjects: Their verifiers are started here.
        host: With boxes where a verifier wants one.
        num_rows: Rows per control; fewer where a source has fewer.

    Raises:
        PluginError: a plugin does not load in its worker.
    """
    # Workers load their plugins while rows are read here.
    desk = GradeDesk(host, {subject.name: subject.rubric for subject in subjects})
    cases: list[tuple[Subject, Control, int]] = []
    unread: dict[str, str] = {}
    for subject in subjects:
        program = subject.rubric.program
        rows, unread[subject.name] = _first_rows(subject, num_rows)
        for control in program.controls:
            for index, row in enumerate(rows):
                desk.submit(len(cases), subject.name, _episode(program, control, row))
                cases.append((subject, control, index))
    verdicts = _collect(desk)
    trials = []
    for subject in subjects:
        for control in subject.rubric.program.controls:
            found = [(index, verdicts[key]) for key, (s, c, index) in enumerate(cases) if s is subject and c is control]
            trials.append(_judge(subject, control, found, unread[subject.name]))
    return trials


def _first_rows(subject: Subject, num_rows: int) -> tuple[list[dict[str, Any]], str]:
    """Return the first rows, and why there are not as many as there should be."""
    fields = subject.rubric.program.fields
    rows: list[dict[str, Any]] = []
    try:
        for index in range(min(num_rows, len(subject.source))):
            row = subject.source.read(index)
            if reason := check_row(row, fields):
                return rows, f"DA001: {subject.split}[{index}] {reason}"
            rows.append({name: row[name] for name in fields})
    except Exception as error:  # a source is a package's code; whatever it raises is a row that cannot be read
        text = str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
        return rows, f"DA001: {subject.split}[{len(rows)}] must be readable, got {text}"
    return rows, "" if rows else f"DA001: data.{subject.split} must have rows, got none"


def _episode(program: Program, control: Control, row: dict[str, Any]) -> Episode:
    return played(program, fill(control.answer, row), row)


def played(program: Program, said: str, row: dict[str, Any]) -> Episode:
    """Return one turn that says a text; a token is a code point, as with the stub of `assay try`."""
    prompt = fill(program.prompt, row)
    messages = [Message.of_text("user", prompt), Message.of_text("assistant", said)]
    if program.system is not None:
        messages.insert(0, Message.of_text("system", fill(program.system, row)))
    tokens = len(said) + 1
    if program.episode.max_tokens is not None:
        # The reward was proved for counts up to the limit.
        tokens = min(tokens, program.episode.max_tokens)
    trace = Trace(turns=1, tokens=tokens, prompt_tokens=len(prompt))
    return Episode(0, program.identity, row, tuple(messages), said, None, trace)


def _collect(desk: GradeDesk) -> dict[int, Verdict]:
    verdicts: dict[int, Verdict] = {}
    while True:
        try:
            found = desk.poll(_WAIT_S if desk.num_open else 0.0)
        except VerifierFault:
            # `on_error: fail` would end a run. Its verdict comes with the next call and says as much.
            continue
        verdicts.update(found)
        if not found and not desk.num_open:
            return verdicts


def _judge(subject: Subject, control: Control, verdicts: list[tuple[int, Verdict]], unread: str) -> Trial:
    expected = f"{control.sign} {control.reward:g}"
    rewards: list[float] = []
    problem, is_lost, note = "", False, ""
    for index, verdict in verdicts:
        at = f"{subject.split}[{index}]"
        if isinstance(verdict, Scored):
            rewards.append(verdict.payout.reward)
            if missed := miss(control.sign, control.reward, verdict.payout.reward):
                found = f"{at}: {missed}{_story(subject.rubric.program, verdict)}"
                # A wrong grade says more than a lost one.
                problem, is_lost = (found, False) if is_lost or not problem else (problem, False)
        elif (verdict.cause, verdict.detail) == ("cancelled", NOBODY):
            note = f"`{verdict.verifier}` asks a person, who cannot be tried before a run"
        elif not problem:
            by = f" of `{verdict.verifier}`" if verdict.verifier else ""
            problem = f"{at}: must be scored, got {verdict.cause}{by}: {verdict.detail}"
            is_lost = verdict.cause in _LOST
    return Trial(subject.name, control.name, expected, tuple(rewards), problem or unread, is_lost, note)


def _story(program: Program, verdict: Scored) -> str:
    """Return which gate was closed and what was measured, as an ending for a problem."""
    parts = []
    if verdict.payout.gate is not None:
        gate = program.reward.gates[verdict.payout.gate]
        parts.append(f"gate {gate.name or verdict.payout.gate} closed")
    for name, measurement in verdict.measurements.items():
        parts += [f"{name}.{signal}={value!r}" for signal, value in measurement.signals.items()]
    return f" ({', '.join(parts)})" if parts else ""
