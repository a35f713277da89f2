"""The contract of a verifier: what every run relies on when it believes a signal.

The verifier is run where a run would run it: in its own locked-down worker process. What is claimed is what was tried:
the author's cases, and a stock of answers that a policy may write. That no other answer breaks it, nobody can show.
"""

import inspect
import os
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec

from assay.core.error import AssayError
from assay.core.leaf import Verifier
from assay.core.sandbox import SandboxBackend, SandboxSpec
from assay.core.signal import check_signals
from assay.core.verdict import Measurement
from assay.runtime.testing.bench import LeafBench, job_of
from assay.runtime.testing.case import Case
from assay.runtime.testing.contract import Contract, shown
from assay.runtime.testing.hazard import MARK
from assay.runtime.testing.hostile import HALF_CHARACTERS, HOSTILE
from assay.runtime.verify.call import bind
from assay.runtime.verify.flight import Outcome

# Calls below this are timed no more exactly: it is what the worker itself takes.
_LEAST_COST_S = 1e-3
_NUM_TIMED = 5
_HANG_S = 0.3
_HAZARD_S = 20.0


class VerifierContract(Contract):
    """What holds of a verifier.

    Attributes:
        verifier: The verifier.
        cases: Calls with the signals that they must give; at least one, and best of all kinds of answer.
        hostile: Answers whose signals do not matter, as long as there are some, by what is odd about them.
        cost_factor: How many times its declared `cost` a call may take in the median; costs are first guesses.
        backend: Where a verifier that asks for a box gets it: one you trust your own commands in.
        box: What that box is like.
    """

    kind = "verifier"
    verifier: ClassVar[Verifier]
    cases: ClassVar[Sequence[Case]] = ()
    hostile: ClassVar[Mapping[str, str]] = HOSTILE
    cost_factor: ClassVar[float] = 10.0
    backend: ClassVar[SandboxBackend | None] = None
    box: ClassVar[SandboxSpec | None] = None

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Leave out equal signals where none are declared, and half characters where a call needs a worker."""
        names = [] if cls.verifier.is_deterministic else ["test_equal_input_gives_equal_signals_in_any_order"]
        needs_worker = cls.verifier.is_async or cls.verifier.needs.sandbox
        return [*names, "test_half_a_character_raises_nothing"] if needs_worker else names

    def test_its_declaration_can_be_read(self) -> None:
        """Every parameter is annotated, every signal documented, and the timeout leaves room for the declared cost."""
        signature = inspect.signature(self.verifier.function)
        bare = [name for name, one in signature.parameters.items() if one.annotation is one.empty]
        self.require(not bare, "a verifier's parameters must be annotated", got=", ".join(bare))
        silent = [name for name, spec in self.verifier.signals.items() if not spec.doc]
        self.require(
            not silent,
            "every signal must say what it measures",
            got=", ".join(silent),
            todo="Declare it as `Annotated[..., assay.signal(doc=...)]`",
        )
        self.require(
            self.verifier.cost_s < self.verifier.timeout_s,
            "a verifier's timeout must be longer than its cost",
            got=f"timeout {self.verifier.timeout_s:g} s, cost {self.verifier.cost_s:g} s",
        )

    def test_cases_give_the_signals_they_must(self) -> None:
        """Each of the author's cases, in a worker."""
        self.require(self.cases, "a contract must have cases", todo="Add `cases = [Case(answer, arguments, signals)]`")
        for case, outcome in zip(self.cases, self._case_outcomes(), strict=True):
            signals = self._signals(case, outcome)
            if case.gives is msgspec.UNSET:
                continue
            if unknown := sorted(set(case.gives) - set(signals)):
                self.broken("a case must name signals that are declared", got=", ".join(unknown), todo=f"In {case}")
            wrong = {name: signals[name] for name, value in case.gives.items() if not _same(signals[name], value)}
            self.require(not wrong, f"case {case} must give {dict(case.gives)!r}", got=wrong)

    def test_whatever_the_answer_is_there_are_signals(self) -> None:
        """No answer of the hostile stock, and no refusal of the parser, makes it raise or leave its declared ranges.

        A timeout passes where `on_timeout` says what it earns: such an answer is scored.
        """
        for case, outcome in zip(self._hostile_cases(), self._hostile_outcomes(), strict=True):
            self._signals(case, outcome)

    def test_half_a_character_raises_nothing(self) -> None:
        """A lone surrogate never reaches a worker; a direct call must bear it all the same, as must your own tests."""
        for name, answer in HALF_CHARACTERS.items():
            case = msgspec.structs.replace(self._first_case(), answer=answer, name=name)
            try:
                given = self._supplied(case)
                check_signals(self.verifier.signals, self.verifier(**given), self.name)
            except AssayError as error:
                self.broken("a verifier must keep to the ranges it declares", got=error, todo=f"With {case}")
            except Exception as error:
                self.broken(
                    "a verifier must return its signals whatever the answer is",
                    got=f"{type(error).__name__}: {error}",
                    todo=f"With {case}",
                )

    def test_equal_input_gives_equal_signals_in_any_order(self) -> None:
        """The same calls again, in the opposite order, in the same process and in a fresh one, measure the same."""
        cases = [*self.cases, *self._hostile_cases()]
        first = [*self._case_outcomes(), *self._hostile_outcomes()]
        again = self._bench().call(cases[::-1])[::-1]
        for case, one, other in zip(cases, first, again, strict=True):
            self._require_equal(case, one, other, "the other order")
        fresh = self._open()
        try:
            for case, one, other in zip(self.cases, first, fresh.call(self.cases), strict=False):
                self._require_equal(case, one, other, "a fresh process")
        finally:
            fresh.close()

    def test_calls_take_no_longer_than_declared(self) -> None:
        """The median call over the cases takes at most `cost_factor` times the declared cost, in a warm worker."""
        self._case_outcomes()
        outcomes = [outcome for _ in range(_NUM_TIMED) for outcome in self._bench().call(self.cases)]
        walls = [outcome.measurement.wall_s for outcome in outcomes if outcome.measurement is not None]
        median = statistics.median(walls or [0.0])
        allowed = self.cost_factor * max(self.verifier.cost_s, _LEAST_COST_S)
        self.require(
            median <= allowed,
            f"a call must take about its declared cost of {self.verifier.cost_s * 1e3:g} ms, at most {allowed * 1e3:g}",
            got=f"{median * 1e3:.3g} ms in the median of {len(walls)} calls",
            todo=f'Declare cost="{max(median, _LEAST_COST_S) * 1e3:.0f}ms"',
        )

    def test_hang_in_its_process_is_ended_and_it_answers_as_before(self) -> None:
        """A call that hangs, with all signals blocked, inside this verifier's process is killed at its timeout."""
        outcome = self._survives("hang", _HANG_S)
        self.require(outcome.is_timeout, "a hang in a worker must end at its timeout", got=outcome.detail)

    def test_crash_of_its_process_does_not_hurt_the_next_call(self) -> None:
        """This verifier's process dies under a call (a bad address, then a silent exit); the next call is right."""
        for how in ("crash", "exit"):
            outcome = self._survives(how, _HAZARD_S)
            self.require(outcome.measurement is None, "a dead worker must give no signals", got=outcome.measurement)

    def test_huge_output_does_not_hurt_the_next_call(self) -> None:
        """64 MB on standard output and on standard error of this verifier's process reach nobody."""
        self._survives("output", _HAZARD_S)

    def test_fork_bomb_leaves_no_process(self) -> None:
        """Processes in sessions of their own, left behind in this verifier's process, are gone with the reply."""
        bench = self._bench()
        before = self._case_outcomes()[0]
        _, mark = bench.endanger("fork", _HAZARD_S)
        left = _processes(f"{MARK}{mark}")
        self.require(not left, "no process may outlive the call that started it", got=left)
        self._require_equal(self._first_case(), before, bench.call([self._first_case()])[0], "a fork bomb")

    def _survives(self, how: Literal["hang", "crash", "exit", "output"], timeout_s: float) -> Outcome:
        """Endanger this verifier's process and require that it then answers as before; returns what the hazard came to.

        These clauses try the verifier's process, not the verifier: a function of the kit misbehaves next to it. They
        show that the package starts again and keeps nothing that a killed process would have had to put in order.
        """
        case, before = self._first_case(), self._case_outcomes()[0]
        outcome, _ = self._bench().endanger(how, timeout_s)
        self._require_equal(case, before, self._bench().call([case])[0], f"its process met `{how}`")
        return outcome

    def _bench(self) -> LeafBench:
        return self.resource("bench", self._open)

    def _open(self) -> LeafBench:
        ref = self.offer.ref
        backend, box = self.backend, self.box
        if self.verifier.needs.sandbox and backend is None:
            from assay.runtime.sandbox.process import ProcessBackend

            backend = ProcessBackend()
        try:
            return LeafBench(ref, self.verifier, backend, box or SandboxSpec("testing") if backend else None)
        except AssayError as error:
            self.broken("a verifier must load in its worker", got=error)

    def _case_outcomes(self) -> list[Outcome]:
        return self.resource("cases", lambda: self._bench().call(self.cases))

    def _hostile_outcomes(self) -> list[Outcome]:
        return self.resource("hostile", lambda: self._bench().call(self._hostile_cases()))

    def _hostile_cases(self) -> list[Case]:
        first = self._first_case()
        answers: dict[str, str | None] = {"no answer": None, **self.hostile}
        return [msgspec.structs.replace(first, answer=answer, name=name) for name, answer in answers.items()]

    def _first_case(self) -> Case:
        self.require(self.cases, "a contract must have cases", todo="Add `cases = [Case(answer, arguments, signals)]`")
        return self.cases[0]

    def _signals(self, case: Case, outcome: Outcome) -> Mapping[str, Any]:
        """Return what was measured; what was not breaks the contract."""
        __tracebackhide__ = True
        if outcome.measurement is not None:
            return outcome.measurement.signals
        if outcome.is_timeout:
            self.broken(
                "a verifier must return within its timeout, or say with `on_timeout` what a timeout earns",
                got=outcome.detail,
                todo=f"With {case}",
            )
        must = "a verifier must return its signals, inside the ranges it declares, whatever the answer is"
        self.broken(must, got=outcome.detail, todo=f"With {case}")

    def _require_equal(self, case: Case, one: Outcome, other: Outcome, where: str) -> None:
        __tracebackhide__ = True
        before, after = _measured(one.measurement), _measured(other.measurement)
        if not self.verifier.is_deterministic and after is not None:
            return
        if one.is_timeout or other.is_timeout:
            # When a call ends is no signal; a call near its timeout may pass it on a busy machine.
            return
        self.require(
            before == after,
            f"a deterministic verifier must give equal signals for equal input, also after {where}",
            got=f"{shown(before)}, then {shown(after)} {other.detail}".strip(),
            todo=f"Declare deterministic=False, or remove what differs: {case}",
        )

    def _supplied(self, case: Case) -> dict[str, Any]:
        return bind(self.verifier, job_of(case, ""))


def _same(value: object, wanted: object) -> bool:
    if isinstance(value, float) and isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return abs(value - wanted) <= 1e-9 * max(1.0, abs(wanted))
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _measured(measurement: Measurement | None) -> Mapping[str, Any] | None:
    return None if measurement is None else measurement.signals


def _processes(name: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "comm").read_text().strip() == name[:15]:
                    found.append(int(entry.name))
            except OSError:
                continue
    return [pid for pid in found if pid != os.getpid()]
