"""One leaf in the locked-down worker of a real run, called one answer at a time."""

from collections.abc import Sequence
from itertools import count
from typing import Literal

from assay.core.episode import Episode
from assay.core.leaf import Leaf, Verifier
from assay.core.message import Message
from assay.core.sandbox import SandboxBackend, SandboxSpec
from assay.core.trajectory import Trace
from assay.runtime.judge.host import JudgeHost
from assay.runtime.sandbox.host import BoxHost
from assay.runtime.testing import hazard
from assay.runtime.testing.case import Case
from assay.runtime.verify.grade import mode_of
from assay.runtime.verify.host import Outcome, VerifierHost, VerifierRef
from assay.runtime.verify.message import Job

How = Literal["nothing", "hang", "crash", "exit", "output", "fork"]
_numbers = count(1)


class LeafBench:
    """A host with one leaf, and the hazards that share its process.

    Args:
        ref: `dist:version:module:attribute` of the leaf.
        leaf: The leaf.
        backend: Where a verifier that asks for a box gets it.
        spec: What that box is like.
        judges: Whom a verifier asks that asks for a judge.
    """

    def __init__(
        self,
        ref: str,
        leaf: Leaf,
        backend: SandboxBackend | None = None,
        spec: SandboxSpec | None = None,
        judges: JudgeHost | None = None,
    ) -> None:
        self._ref = ref
        self._spec = spec
        dist, version, _ = ref.split(":", 2)
        self._hazard = f"{dist}:{version}:{hazard.hazard.object_name}"
        mode = mode_of(leaf) if isinstance(leaf, Verifier) else "worker"
        self.host = VerifierHost(boxes=None if backend is None else BoxHost(backend), judges=judges)
        self.host.start([VerifierRef(self._ref, mode), VerifierRef(self._hazard, mode)])
        self.host.wait_started()

    def call(self, cases: Sequence[Case]) -> list[Outcome]:
        """Call the leaf once for each, in order; returns what came of each."""
        return [self._run(job_of(case, self._ref, self._spec)) for case in cases]

    def endanger(self, how: How, timeout_s: float) -> tuple[Outcome, str]:
        """Misbehave inside the leaf's process; returns what came of it and the mark of what it may have left."""
        number = next(_numbers)
        mark = str(number)
        return self._run(Job(number, self._hazard, {"how": how, "mark": mark}, None, None, timeout_s)), mark

    def close(self) -> None:
        """End all processes."""
        self.host.close()

    def _run(self, job: Job) -> Outcome:
        self.host.submit(job)
        while not (outcomes := self.host.poll(10.0)):
            pass
        return outcomes[0]


def job_of(case: Case, ref: str, spec: SandboxSpec | None = None) -> Job:
    """Return the job that calls a leaf as a case says, with a box where one is described."""
    return Job(next(_numbers), ref, dict(case.arguments), case.answer, _episode(case), sandbox=spec)


def _episode(case: Case) -> Episode:
    said = case.answer or ""
    messages = (Message.of_text("user", "The task."), Message.of_text("assistant", said))
    trace = Trace(turns=1, tokens=len(said) + 1, prompt_tokens=9, parsed=case.answer is not None)
    return Episode(0, "testing/task", dict(case.task), messages, said, case.answer, trace)
