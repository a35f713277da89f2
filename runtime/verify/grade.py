"""Grading: from a finished episode to its verdict.

The answer is parsed, then verifications run lazily and in order: those of the first gate, then of the next while gates
are open, then those of the terms. Whatever cannot be measured makes the episode unscored with its cause; what the
policy can cause (an answer that does not parse, a timeout that earns signals) is scored.

People are asked last, once no process has anything left to measure, and are waited for beside everything else.

Invariants: every episode submitted has exactly one verdict; unscored carries no reward.
"""

import time
from collections.abc import Mapping

import msgspec

from assay.core.episode import Episode
from assay.core.error import PluginError, VerifierFault
from assay.core.leaf import Verifier
from assay.core.sandbox import SandboxSpec
from assay.core.signal import SignalValue
from assay.core.verdict import Measurement, Scored, Unscored, Verdict
from assay.dsl.expr.function import BUILTIN, Entry
from assay.dsl.program import BoxSpec, Program, Use
from assay.dsl.reduce import Grader
from assay.runtime.review.desk import LOOK_S, NOBODY, PeopleDesk
from assay.runtime.review.question import people_of
from assay.runtime.run.argument import bind
from assay.runtime.verify.host import Outcome, VerifierHost, VerifierRef
from assay.runtime.verify.message import Job, Mode

# The name under which an answer parser is known beside those of `verify:`, none of which may be empty.
_PARSER = ""


def mode_of(verifier: Verifier) -> Mode:
    """Return how a verifier's calls are run, for the plan."""
    if verifier.is_async:
        return "async"
    return "fork" if verifier.isolation == "fork" else "worker"


class Rubric:
    """One program, ready to grade.

    Args:
        program: The compiled domain.
        leaves: `dist:version:module:attribute` of its verifiers and parser, by registered name.
        modes: How a verifier's calls are run, by registered name; `worker` where absent.
        functions: Functions its expressions may call.

    Raises:
        PluginError: a leaf has no reference.
    """

    def __init__(
        self,
        program: Program,
        leaves: Mapping[str, str],
        modes: Mapping[str, Mode] | None = None,
        functions: Mapping[str, Entry] = BUILTIN,
    ) -> None:
        self.program = program
        self.grader = Grader(program, functions)
        self.sandbox = None if program.sandbox is None else _box_spec(program.sandbox)
        uses = {name: verify.use for name, verify in program.verify.items()}
        if program.answer is not None:
            uses[_PARSER] = program.answer
        for use in uses.values():
            if use.leaf not in leaves:
                raise PluginError("a plan must hold the reference of every leaf", got=use.leaf, at=program.identity)
        self.uses: dict[str, tuple[Use, str]] = {name: (use, leaves[use.leaf]) for name, use in uses.items()}
        self.people = frozenset(people_of(program))
        self.refs = tuple(
            VerifierRef(ref, (modes or {}).get(use.leaf, "worker") if name != _PARSER else "worker")
            for name, (use, ref) in self.uses.items()
            if name not in self.people
        )


class GradeDesk:
    """Grades many episodes at a time on one host; polled by the loop that owns it.

    Args:
        host: Where verifiers run.
        rubrics: By name of the mix entry; their leaves are started here.
        people: Where people are asked; None: what they would have to answer is unscored.
    """

    def __init__(self, host: VerifierHost, rubrics: Mapping[str, Rubric], people: PeopleDesk | None = None) -> None:
        self.host = host
        self.people = people
        self.rubrics = dict(rubrics)
        self._grading: dict[int, _Grading] = {}
        self._jobs: dict[int, tuple[int, str]] = {}
        self._num_jobs = 0
        self._verdicts: list[tuple[int, Verdict]] = []
        host.start([ref for rubric in self.rubrics.values() for ref in rubric.refs])

    @property
    def num_open(self) -> int:
        """Episodes without a verdict."""
        return len(self._grading)

    @property
    def is_busy(self) -> bool:
        """Whether anything but people is waited for."""
        num_asked = 0 if self.people is None else self.people.num_open
        return len(self._jobs) > num_asked or bool(self._verdicts)

    def held(self) -> set[int]:
        """Return the episodes that stand still because of a judge."""
        return {self._jobs[job_id][0] for job_id in self.host.held() if job_id in self._jobs}

    def trouble(self) -> str:
        """Return one line on what episodes wait for that should be there; empty where nothing is amiss."""
        return "" if self.host.judges is None else self.host.judges.trouble()

    def close(self) -> None:
        """End the processes of verifiers; open episodes have no verdict."""
        self.host.close()
        if self.people is not None:
            self.people.close()

    def submit(self, key: int, entry: str, episode: Episode, known: Mapping[str, Measurement] | None = None) -> None:
        """Begin to grade an episode.

        Args:
            key: Named in its verdict; unique among open ones.
            entry: Name of its mix entry.
            episode: As played; its answer and `trace.parsed` are made here.
            known: Measurements that are there already, by name under `verify:`; they are not made again.
        """
        grading = _Grading(self.rubrics[entry], episode)
        for name, measurement in (known or {}).items():
            grading.take(name, measurement)
        self._grading[key] = grading
        if grading.rubric.program.answer is not None:
            self._run(key, grading, _PARSER)
        else:
            grading.take_answer(episode.final_text)
            self._advance(key, grading)

    def cancel(self, key: int) -> None:
        """Give up an episode; it gets no verdict. Safe for one that is unknown."""
        if self._grading.pop(key, None) is not None:
            for job_id, (owner, _) in list(self._jobs.items()):
                if owner == key:
                    self._drop(job_id)

    def poll(self, timeout_s: float = 0.0) -> list[tuple[int, Verdict]]:
        """Return verdicts with their keys, waiting up to `timeout_s` for the first.

        Raises:
            VerifierFault: a verifier failed that declares its failure fatal; verdicts so far come with the next call.
            JudgeRefused: a judge takes no question any more; likewise.
            PluginError: a plugin does not load in its worker.
        """
        until = time.monotonic() + timeout_s
        while True:
            left = max(0.0, until - time.monotonic())
            if self.people is not None and self.people.num_open:
                wait_s = min(left, LOOK_S)
            else:
                wait_s = left
            for outcome in self.host.poll(0.0 if self._verdicts else wait_s):
                self._on_outcome(outcome)
            for outcome in () if self.people is None else self.people.poll():
                self._on_outcome(outcome)
            if self.host.judges is not None:
                self.host.judges.require_taken()
            if self._verdicts or not left:
                break
        verdicts, self._verdicts = self._verdicts, []
        return verdicts

    def _on_outcome(self, outcome: Outcome) -> None:
        owner = self._jobs.pop(outcome.job_id, None)
        if owner is None:
            return
        key, name = owner
        grading = self._grading[key]
        grading.running.discard(name)
        if outcome.measurement is not None:
            if name == _PARSER:
                answer = outcome.measurement.signals["answer"]
                grading.take_answer(answer if isinstance(answer, str) else None)
            else:
                grading.take(name, outcome.measurement)
            self._advance(key, grading)
        elif name == _PARSER and outcome.is_timeout:
            # The policy wrote the text that the parser cannot get through.
            grading.take_answer(None)
            self._advance(key, grading)
        else:
            lost = outcome.cost_usd, outcome.queue_s
            self._finish(key, Unscored(outcome.cause or "infra", outcome.detail, name, grading.measurements, *lost))
            if outcome.is_fatal:
                raise VerifierFault("a verifier whose failure ends the run must not fail", got=outcome.detail)

    def _advance(self, key: int, grading: "_Grading") -> None:
        if grading.running:
            return
        fields = grading.episode.task
        grader, program = grading.rubric.grader, grading.rubric.program
        try:
            needed = grader.needs(grading.signals, fields)
            payout = None if needed else grader.payout(grading.signals, fields)
        except (VerifierFault, ArithmeticError, ValueError, TypeError) as error:
            self._finish(key, Unscored("verifier_fault", str(error), measurements=grading.measurements))
            return
        if payout is not None:
            digests = program.digest, program.digests["reward"]
            self._finish(key, Scored(grading.measurements, payout, *digests))
            return
        machines = [name for name in needed if name not in grading.rubric.people]
        if not machines and self.people is None:
            self._finish(key, Unscored("cancelled", NOBODY, needed[0], grading.measurements))
            return
        for name in machines or needed:
            self._run(key, grading, name)

    def _run(self, key: int, grading: "_Grading", name: str) -> None:
        use, ref = grading.rubric.uses[name]
        arguments = bind(use, grading.rubric.program.params, grading.episode.task)
        self._num_jobs += 1
        episode = grading.episode
        declared = self.host.declared.get(ref)
        # Until the worker has said what it asks for, it is sent everything.
        wants_episode = declared is None or not {"episode", "task", "artifacts"}.isdisjoint(declared.supplied)
        self._jobs[self._num_jobs] = (key, name)
        grading.running.add(name)
        if name in grading.rubric.people and self.people is not None:
            self.people.ask(self._num_jobs, episode.id, name, ref, use.version, arguments)
            return
        self.host.submit(
            Job(
                self._num_jobs,
                ref,
                arguments,
                episode.final_text if name == _PARSER else episode.answer,
                episode if wants_episode else None,
                sandbox=grading.rubric.sandbox,
            )
        )

    def _finish(self, key: int, verdict: Verdict) -> None:
        self.cancel(key)
        self._verdicts.append((key, verdict))

    def _drop(self, job_id: int) -> None:
        self.host.cancel(job_id)
        if self.people is not None:
            self.people.withdraw(job_id)
        del self._jobs[job_id]


class _Grading:
    """One episode on its way to a verdict."""

    def __init__(self, rubric: Rubric, episode: Episode) -> None:
        self.rubric = rubric
        self.episode = episode
        self.running: set[str] = set()
        self.measurements: dict[str, Measurement] = {}
        self.signals: dict[str, dict[str, SignalValue]] = {}

    def take_answer(self, answer: str | None) -> None:
        """Set the answer; None where the parser refused."""
        trace = msgspec.structs.replace(self.episode.trace, parsed=answer is not None)
        self.episode = msgspec.structs.replace(self.episode, answer=answer, trace=trace)
        self.signals["trace"] = msgspec.structs.asdict(trace)

    def take(self, name: str, measurement: Measurement) -> None:
        """Add what one verification measured."""
        self.measurements[name] = measurement
        self.signals[name] = measurement.signals


def _box_spec(written: BoxSpec) -> SandboxSpec:
    """Return what a grading box must be like: as written, with one core where nothing was."""
    spec = SandboxSpec(written.image, written.net, written.cpu or 1.0, written.memory_bytes, written.time_s)
    return msgspec.structs.replace(spec, history=written.history)
