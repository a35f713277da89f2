"""The contract of an answer parser: any text in, the answer or a refusal out, and quickly."""

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

import msgspec

from assay.core.leaf import Parser
from assay.runtime.testing.case import Case
from assay.runtime.testing.hostile import HALF_CHARACTERS
from assay.runtime.testing.worker import WorkerContract
from assay.runtime.verify.flight import Outcome


class ParserContract(WorkerContract):
    """What holds of a parser.

    Attributes:
        parser: The parser.
        cases: Texts with the answer that must be read from them, None for a refusal.
        is_idempotent: Claim that an answer, read again, is itself.
        longest_s: Seconds that reading one hostile text may take; the longest is a megabyte.
    """

    kind = "parser"
    parser: ClassVar[Parser]
    is_idempotent: ClassVar[bool] = False
    longest_s: ClassVar[float] = 1.0

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Leave out idempotence where it is not claimed."""
        return () if cls.is_idempotent else ("test_an_answer_read_again_is_itself",)

    def test_its_declaration_can_be_read(self) -> None:
        """The text comes first, and every parameter is annotated."""
        parameters = inspect.signature(self.parser.function).parameters
        self.require(
            "text" in parameters, "a parser must take `text`", got=", ".join(parameters), todo="Call the text `text`"
        )
        bare = [name for name, one in parameters.items() if one.annotation is one.empty]
        self.require(not bare, "a parser's parameters must be annotated", got=", ".join(bare))

    def test_cases_give_the_answers_they_must(self) -> None:
        """Each of the author's cases, in a worker."""
        for case, outcome in zip(self.cases, self._case_outcomes(), strict=True):
            answer = self._answer(case, outcome)
            if case.gives is not msgspec.UNSET:
                self.require(answer == case.gives, f"case {case} must give {case.gives!r}", got=repr(answer))

    def test_whatever_the_text_is_there_is_an_answer_or_a_refusal(self) -> None:
        """No text of the hostile stock makes it raise; what it cannot read it refuses with None."""
        for case, outcome in zip(self._hostile_cases(), self._hostile_outcomes(), strict=True):
            self._answer(case, outcome)

    def test_half_a_character_raises_nothing(self) -> None:
        """A lone surrogate never reaches a worker; a direct call must bear it all the same, as in your own tests."""
        for name, text in HALF_CHARACTERS.items():
            case = msgspec.structs.replace(self._first_case(), answer=text, name=name)
            try:
                answer = self.parser(text, **case.arguments)
            except Exception as error:  # whatever it raises is the fault that is looked for
                self._raised(f"{type(error).__name__}: {error}", case)
            self.require(answer is None or isinstance(answer, str), "a parser must return a text or None", got=answer)

    def test_same_text_gives_the_same_answer_in_any_order(self) -> None:
        """The same texts again, in the opposite order in the same process and in a fresh one, are read the same."""
        self._require_equal_again()

    def test_an_answer_read_again_is_itself(self) -> None:
        """Reading an answer gives that answer; claimed with `is_idempotent`."""
        cases = [case for case in self.cases if case.answer is not None]
        answers = [self._answer(case, outcome) for case, outcome in zip(cases, self._case_outcomes(), strict=True)]
        again = [
            msgspec.structs.replace(case, answer=answer)
            for case, answer in zip(cases, answers, strict=True)
            if answer is not None
        ]
        for case, outcome in zip(again, self._bench().call(again), strict=True):
            answer = self._answer(case, outcome)
            self.require(
                answer == case.answer,
                "an answer, read again, must be itself",
                got=f"{answer!r} from {case}",
                todo="Or do not claim is_idempotent",
            )

    def test_hostile_text_takes_little_time(self) -> None:
        """No text of the stock, the longest a megabyte, takes more than `longest_s` seconds in a warm worker."""
        slow = [
            f"{outcome.measurement.wall_s:.2f} s for {case}"
            for case, outcome in zip(self._hostile_cases(), self._hostile_outcomes(), strict=True)
            if outcome.measurement is not None and outcome.measurement.wall_s > self.longest_s
        ]
        self.require(
            not slow,
            f"a parser must read any text in at most {self.longest_s:g} s",
            got="; ".join(slow[:3]),
            todo="Read in time linear in the text; regular expressions that try again from each place are not",
        )

    def _answer(self, case: Case, outcome: Outcome) -> Any:
        __tracebackhide__ = True
        if outcome.measurement is None:
            self._raised(outcome.detail, case)
        return outcome.measurement.signals["answer"]

    def _raised(self, reason: str, case: Case) -> NoReturn:
        __tracebackhide__ = True
        self.broken(
            "a parser must return an answer or None for any text, in time", got=reason, todo=f"It came with {case}"
        )
