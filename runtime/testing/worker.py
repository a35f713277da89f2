"""What holds of every leaf that runs in a worker: it answers equally, and its process may die at any moment."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from assay.core.error import AssayError
from assay.core.leaf import Leaf
from assay.runtime.testing.bench import How, LeafBench
from assay.runtime.testing.case import Case
from assay.runtime.testing.contract import Contract, shown
from assay.runtime.testing.hazard import MARK
from assay.runtime.testing.hostile import HOSTILE
from assay.runtime.verify.flight import Outcome

_HANG_S = 0.3
_HAZARD_S = 20.0


class WorkerContract(Contract):
    """What holds of verifiers and parsers.

    The clauses on hang, crash, output and fork bomb try the leaf's process, not the leaf: a function of the kit
    misbehaves beside it (see `hazard.py`). They show that a run bears it, that the package starts again, and that it
    keeps nothing which a killed process would have had to put in order.

    Attributes:
        cases: Calls with what must come of them; at least one, and best of all kinds of answer.
        hostile: Further answers, by what is odd about them; whatever comes of them must be of the declared kind.
    """

    cases: ClassVar[Sequence[Case]] = ()
    hostile: ClassVar[Mapping[str, str]] = HOSTILE
    is_repeatable: ClassVar[bool] = True

    def test_hang_in_its_process_is_ended_and_it_answers_as_before(self) -> None:
        """A call that hangs, with all signals blocked, inside this leaf's process is killed at its timeout."""
        outcome = self._survives("hang", _HANG_S)
        self.require(outcome.is_timeout, "a hang in a worker must end at its timeout", got=outcome.detail)

    def test_crash_of_its_process_does_not_hurt_the_next_call(self) -> None:
        """This leaf's process dies under a call (a bad address, then a silent exit); the next call is right."""
        for how in ("crash", "exit"):
            outcome = self._survives(how, _HAZARD_S)
            self.require(outcome.measurement is None, "a dead worker must measure nothing", got=outcome.measurement)

    def test_huge_output_does_not_hurt_the_next_call(self) -> None:
        """64 MB on standard output and on standard error of this leaf's process reach nobody."""
        self._survives("output", _HAZARD_S)

    def test_fork_bomb_leaves_no_process(self) -> None:
        """Processes in sessions of their own, left behind in this leaf's process, are gone with the reply."""
        self._case_outcomes()
        mark = self._bench().endanger("fork", _HAZARD_S)[1]
        left = processes(f"{MARK}{mark}")
        self.require(not left, "no process may outlive the call that started it", got=left)
        self._survives("nothing", _HAZARD_S)

    def make_bench(self, ref: str, leaf: Leaf) -> LeafBench:
        """Start a worker; a contract overrides it where a leaf needs more.

        Raises:
            PluginError: the leaf does not load there.
        """
        return LeafBench(ref, leaf)

    def _survives(self, how: How, timeout_s: float) -> Outcome:
        """Endanger this leaf's process and require that it then answers as before; returns what the hazard came to."""
        case, before = self._first_case(), self._case_outcomes()[0]
        outcome, _ = self._bench().endanger(how, timeout_s)
        self._require_equal(case, before, self._bench().call([case])[0], f"its process met `{how}`")
        return outcome

    def _bench(self) -> LeafBench:
        return self.resource("bench", self._open)

    def _open(self) -> LeafBench:
        try:
            return self.make_bench(self.offer.ref, self.plugin)
        except AssayError as error:
            self.broken(f"a {self.kind} must load in its worker", got=error)

    def _case_outcomes(self) -> list[Outcome]:
        self._first_case()
        return self.resource("cases", lambda: self._bench().call(self.cases))

    def _hostile_outcomes(self) -> list[Outcome]:
        return self.resource("hostile", lambda: self._bench().call(self._hostile_cases()))

    def _hostile_cases(self) -> list[Case]:
        first = self._first_case()
        return [msgspec.structs.replace(first, answer=answer, name=name) for name, answer in self.hostile.items()]

    def _first_case(self) -> Case:
        __tracebackhide__ = True
        self.require(self.cases, "a contract must have cases", todo="Add `cases = [Case(...)]`")
        return self.cases[0]

    def _require_equal_again(self) -> None:
        """Call everything once more in the opposite order, and the cases in a fresh process."""
        __tracebackhide__ = True
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

    def _require_equal(self, case: Case, one: Outcome, other: Outcome, where: str) -> None:
        __tracebackhide__ = True
        before, after = measured(one), measured(other)
        if one.is_timeout or other.is_timeout:
            # When a call ends is no signal; a call near its timeout may pass it on a busy machine.
            return
        if not self.is_repeatable and after is not None:
            return
        self.require(
            before == after,
            f"a {self.kind} must give the same for the same input, also after {where}",
            got=f"{shown(before)}, then {shown(after)} {other.detail}".strip(),
            todo=f"Remove what differs: {case}",
        )


def measured(outcome: Outcome) -> Mapping[str, Any] | None:
    """Return the signals of a call; None where there are none."""
    return None if outcome.measurement is None else outcome.measurement.signals


def processes(name: str) -> list[int]:
    """Return the processes of a name, whoever's they are."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "comm").read_text().strip() == name[:15]:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
