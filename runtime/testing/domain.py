"""The contract of a domain: it compiles without a warning, and its grader gives golden cases what they are worth."""

from collections.abc import Sequence
from typing import Any, ClassVar

from assay.core.declare import Domain
from assay.core.error import AssayError, PluginError
from assay.core.registry import Offer, Registry, installed
from assay.dsl.compile import Compiled
from assay.dsl.index import DomainIndex, Found
from assay.dsl.program import Program
from assay.dsl.reduce import Grader, functions_of
from assay.dsl.source.diagnostic import render
from assay.runtime.preflight.backend import choose_backend
from assay.runtime.preflight.control import Subject, Trial, subject_of, try_controls
from assay.runtime.preflight.example import run_example
from assay.runtime.preflight.reading import read_rows
from assay.runtime.sandbox.host import BoxHost
from assay.runtime.testing.contract import Contract
from assay.runtime.verify.host import VerifierHost


class DomainContract(Contract):
    """What holds of a domain.

    Attributes:
        domain: Its id, such as `word_count`, or `assay.Domain`.
        backend: Name of the sandbox backend for its controls; None for the first that declares what it needs.
        rows: How many rows of each split are read.
        control_rows: How many rows each control is filled from.
    """

    kind = "domain"
    domain: ClassVar[str | Domain]
    backend: ClassVar[str | None] = None
    rows: ClassVar[int] = 16
    control_rows: ClassVar[int] = 4

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Leave out what is for objects that workers load."""
        return ("test_a_worker_finds_it_again",)

    @property
    def name(self) -> str:
        """The id inside its package."""
        return self.domain.id if isinstance(self.domain, Domain) else self.domain

    @property
    def offer(self) -> Offer:
        """The one package that declares it.

        Raises:
            ContractBroken: nobody does, or somebody else does too.
        """
        found = self._found()
        registry = self._registry()
        return Offer("domain", found.id, self.domain, found.dist, registry.plugins.get(found.dist, "0"))

    def test_it_compiles_without_a_warning(self) -> None:
        """`assay check --strict` has nothing to say; what it need not say is allowed in the file, with a reason."""
        compiled = self._compiled()
        self.require(
            not compiled.findings,
            "a domain must compile without a finding",
            got="\n\n" + "\n\n".join(render(one) for one in compiled.findings) + "\n\n",
            todo="Each code has a page in docs/errors",
        )

    def test_its_examples_hold(self) -> None:
        """It has examples, and the compiled reward gives each what it says."""
        program = self._program()
        self.require(program.examples, "a domain must have examples", todo="Add `examples:` with given and reward")
        grader = Grader(program, self._functions())
        for example in program.examples:
            outcome = run_example(grader, example)
            self.require(not outcome.problem, f"example `{example.name}` must hold", got=outcome.problem)

    def test_rows_of_every_split_fit(self) -> None:
        """The first rows of every split have the declared fields."""
        for rows in read_rows(self._program(), self._compiled().base, self._registry(), self.rows):
            self.require(not rows.problem, f"rows of `data.{rows.split}` must fit", got=rows.problem)

    def test_its_controls_hold(self) -> None:
        """Answers whose reward is known get it from the real verifiers in their locked-down workers.

        At least two, so that a right answer and a wrong one are told apart.
        """
        program = self._program()
        self.require(
            len({(one.sign, one.reward) for one in program.controls}) >= 2,
            "a domain must have controls with different rewards",
            got=", ".join(f"{one.name} {one.sign} {one.reward:g}" for one in program.controls) or "none",
            todo="Add `controls:` with at least an oracle and an empty answer",
        )
        for trial in self._trials():
            self.require(not trial.problem, f"control `{trial.control}` must hold", got=trial.problem)

    def _doc(self) -> str:
        return self._program().summary or ""

    def _described(self) -> str:
        return f"domain `{self.name}`"

    def _registry(self) -> Registry:
        return installed() if self.registry is None else self.registry

    def _found(self) -> Found:
        try:
            return self.resource("found", lambda: DomainIndex(self._registry()).find(self.name))
        except PluginError as error:
            self.broken(
                "a domain must be declared by one installed package",
                got=error,
                todo="Offer it from `assay_domains`, name the package under `[project.entry-points.assay]`, and run "
                "`pip install --editable .`",
                at=self._described(),
            )

    def _compiled(self) -> Compiled:
        return self.resource("compiled", lambda: self._found().compile(self._registry()))

    def _program(self) -> Program:
        program = self._compiled().program
        if program is None:
            self.broken("a domain must compile", todo=f"`assay check {self.name}` says what keeps it from it")
        return program

    def _functions(self) -> Any:
        return functions_of([offer.value for offer in self._registry().of_kind("function")])

    def _trials(self) -> list[Trial]:
        compiled, registry = self._compiled(), self._registry()
        assert compiled.facts is not None
        try:
            backend = choose_backend(compiled.facts.needs, registry, self.backend)
            subject: Subject = subject_of(self.name, compiled, registry, self._functions())
            with VerifierHost(boxes=None if backend is None else BoxHost(backend)) as host:
                return try_controls([subject], host, self.control_rows)
        except AssayError as error:
            self.broken("controls of a domain must be tried", got=error)
