"""The contract of a verifier: what every run relies on when it believes a signal.

The verifier is run where a run would run it: in its own locked-down worker process. What is claimed is what was tried:
the author's cases, and a stock of answers that a policy may write. That no other answer breaks it, nobody can show.

A verifier of the tier `human` is never called: of it, its declaration and the questions of its cases are tried.
"""

import inspect
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from assay.core.error import AssayError
from assay.core.judge import JudgeBackend
from assay.core.kind import Kind
from assay.core.leaf import Leaf, Verifier
from assay.core.sandbox import SandboxBackend, SandboxSpec
from assay.core.signal import check_signals
from assay.runtime.review.question import SIGNAL, read_question
from assay.runtime.testing.bench import LeafBench, job_of
from assay.runtime.testing.case import Case
from assay.runtime.testing.hostile import HALF_CHARACTERS
from assay.runtime.testing.worker import WorkerContract
from assay.runtime.verify.call import bind
from assay.runtime.verify.flight import Outcome

# Below this a call is timed no more exactly: it is what the worker itself takes.
_LEAST_COST_S = 1e-3
_NUM_TIMED = 5
_OF_PEOPLE = frozenset(
    {
        "test_it_is_installed_and_its_name_is_its_own",
        "test_a_worker_finds_it_again",
        "test_it_says_what_it_does",
        "test_declaring_it_is_light",
        "test_its_declaration_can_be_read",
        "test_people_can_answer_its_questions",
    }
)


class VerifierContract(WorkerContract):
    """What holds of a verifier.

    Attributes:
        verifier: The verifier.
        cases: Calls with the signals that they must give; at least one, and best of all kinds of answer.
        hostile: Answers whose signals do not matter, as long as there are some, by what is odd about them.
        cost_factor: How many times its declared `cost` a call may take in the median; costs are first guesses.
        backend: Where a verifier that asks for a box gets it; None for plain processes, which you trust your cases in.
        box: What that box is like.
        judge: Makes the judge of a verifier that asks one, such as a class that answers by rule.
    """

    kind = "verifier"
    verifier: ClassVar[Verifier]
    cost_factor: ClassVar[float] = 10.0
    backend: ClassVar[SandboxBackend | None] = None
    box: ClassVar[SandboxSpec] = SandboxSpec("testing")
    judge: ClassVar[Callable[[], JudgeBackend] | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if hasattr(cls, "verifier"):
            cls.is_repeatable = cls.verifier.is_deterministic

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Leave out equal signals where none are declared, half characters where a call needs a worker, and people."""
        if cls.verifier.tier == "human":
            return [name for name in dir(VerifierContract) if name.startswith("test_") and name not in _OF_PEOPLE]
        names = ["test_people_can_answer_its_questions"]
        names += [] if cls.verifier.is_deterministic else ["test_equal_input_gives_equal_signals_in_any_order"]
        needs_worker = cls.verifier.is_async or cls.verifier.needs.sandbox
        return [*names, "test_half_a_character_raises_nothing"] if needs_worker else names

    def test_people_can_answer_its_questions(self) -> None:
        """The tier `human` alone, which is never called: its one signal is `mark`, and its cases make questions.

        Clauses that need a call are left out: nobody knows before a run what people will say.
        """
        found = self.verifier.signals
        self.require(
            list(found) == [SIGNAL] and found[SIGNAL].kind == Kind("float", 0.0, 1.0),
            f"a verifier of the tier human must have the one signal `{SIGNAL}`, a float from 0 to 1",
            got=", ".join(f"{name} {spec.kind}" for name, spec in found.items()),
        )
        parameters = inspect.signature(self.verifier.function).parameters
        known = ("question", "low", "high", "patience")
        strange = sorted(set(parameters) - set(known))
        self.require(not strange, f"its parameters must be among {', '.join(known)}", got=", ".join(strange))
        self._first_case()
        defaults = {name: one.default for name, one in parameters.items() if one.default is not one.empty}
        for case in self.cases:
            try:
                read_question({**defaults, **case.arguments})
            except (ValueError, TypeError, AssayError) as error:
                self.broken("a case's arguments must make a question", got=error, todo=f"In {case}")

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
        """A lone surrogate never reaches a worker; a direct call must bear it all the same, as in your own tests."""
        for name, answer in HALF_CHARACTERS.items():
            case = msgspec.structs.replace(self._first_case(), answer=answer, name=name)
            try:
                found = self.verifier(**bind(self.verifier, job_of(case, "")))
                check_signals(self.verifier.signals, found, self.name)
            except Exception as error:  # whatever it raises is the fault that is looked for
                self.broken(
                    "a verifier must return its signals, inside the ranges it declares, whatever the answer is",
                    got=error,
                    todo=f"With {case}",
                )

    def test_equal_input_gives_equal_signals_in_any_order(self) -> None:
        """The same calls again, in the opposite order in the same process and in a fresh one, measure the same."""
        self._require_equal_again()

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

    def make_bench(self, ref: str, leaf: Leaf) -> LeafBench:
        """Start a worker, with boxes and a judge where the verifier asks for them."""
        # As it was set: a plain function would be bound to the instance.
        make = inspect.getattr_static(type(self), "judge")
        if self.verifier.asks_judge:
            if make is None:
                self.broken("the contract of a verifier that asks a judge must have one", todo="Set `judge`")
            from assay.runtime.judge.host import JudgeHost

            return LeafBench(ref, leaf, judges=JudgeHost(make, should_cache=False))
        if not self.verifier.needs.sandbox:
            return LeafBench(ref, leaf)
        from assay.runtime.sandbox.process import ProcessBackend

        return LeafBench(ref, leaf, self.backend or ProcessBackend(), self.box)

    def _hostile_cases(self) -> list[Case]:
        refused = msgspec.structs.replace(self._first_case(), answer=None, name="no answer")
        return [refused, *super()._hostile_cases()]

    def _signals(self, case: Case, outcome: Outcome) -> Mapping[str, Any]:
        """Return what was measured; what was not breaks the contract."""
        __tracebackhide__ = True
        if outcome.measurement is not None:
            return outcome.measurement.signals
        if outcome.is_timeout:
            must = "a verifier must return within its timeout, or say with `on_timeout` what a timeout earns"
        else:
            must = "a verifier must return its signals, inside the ranges it declares, whatever the answer is"
        self.broken(must, got=outcome.detail, todo=f"With {case}")


def _same(value: object, wanted: object) -> bool:
    if isinstance(value, float) and isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return abs(value - wanted) <= 1e-9 * max(1.0, abs(wanted))
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
