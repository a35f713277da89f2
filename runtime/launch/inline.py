"""The inline runtime: coordinator and stages in one process and one thread, joined by `inproc://`.

Everything but the launcher is what a real run has: the same core, ledger, wire and stages. A breakpoint in any of them
stops all of them. For one episode or a small evaluation; a run with a trainer has processes.
"""

import itertools
import time
from collections.abc import Sequence
from pathlib import Path

import zmq

from assay.core.chat import ChatFormat
from assay.core.engine import Engine
from assay.core.error import AssayError
from assay.core.registry import resolve
from assay.core.wire import Stop
from assay.runtime.coordinator.instruction import Finish
from assay.runtime.coordinator.loop import Loop
from assay.runtime.judge.open import open_judge
from assay.runtime.review.desk import PeopleDesk
from assay.runtime.run.coordination import run_spec
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import RunPlan
from assay.runtime.sandbox.open import open_boxes
from assay.runtime.stage.rollout import RolloutStage, parser_refs
from assay.runtime.stage.source import SourceStage
from assay.runtime.stage.verify import VerifyStage, rubrics
from assay.runtime.stage.worker import Stage
from assay.runtime.verify.grade import GradeDesk
from assay.runtime.verify.host import VerifierHost
from assay.runtime.wire.client import Client

_numbers = itertools.count()
# A stage works for so long before the others have their turn.
_SPELL_S = 0.2


class Inline:
    """One evaluation without processes, but for those that verifiers run in.

    Args:
        plan: Of the run; has no stages.
        folder: Of the run.
        engine: Policy.
        chat: Of the policy.
        paths: Further folders that verifiers and parsers are imported from.
        should_validate: Check every invariant of the coordinator after every event.
        people: Where people are asked; None: what they would have to answer is unscored.
    """

    def __init__(
        self,
        plan: RunPlan,
        folder: RunFolder,
        engine: Engine,
        chat: ChatFormat,
        *,
        paths: Sequence[str] = (),
        should_validate: bool = False,
        people: PeopleDesk | None = None,
    ) -> None:
        self._context = zmq.Context()
        address = f"inproc://assay-{next(_numbers)}"
        spec = run_spec(plan)
        # A turn waits for a quarter of a heartbeat when nothing is said.
        self._loop = Loop(folder.path, spec, address=address, context=self._context, should_validate=should_validate)
        self._stages: list[tuple[Client, Stage]] = []
        make_store = resolve(plan.factories["store"])
        options = plan.settings["store"]["options"]

        def client(role: str, slots: float) -> Client:
            return Client(
                address,
                role=role,  # type: ignore[arg-type]
                worker=f"{role}-0",
                plan_digest=plan.digest,
                capacity={"slots": slots},
                context=self._context,
            )

        source = client("source", 4.0)
        self._stages.append((source, SourceStage(plan, make_store(folder.blobs, "source-0", **options), source)))
        parsers = None
        if refs := parser_refs(plan):
            parsers = VerifierHost(paths=paths)
            parsers.start(refs)
        rollout = client("rollout", 64.0)
        store = make_store(folder.blobs, "rollout-0", **options)
        temperature = plan.settings["eval"]["temperature"]
        stage = RolloutStage(plan, engine, chat, store, rollout, parsers=parsers, eval_temperature=temperature)
        self._stages.append((rollout, stage))
        verify = client("verify", 8.0)
        host = VerifierHost(paths=paths, boxes=open_boxes(plan), judges=open_judge(plan, folder.judge))
        desk = GradeDesk(host, rubrics(plan.entries), people)
        self._stages.append((verify, VerifyStage(desk, make_store(folder.blobs, None, **options), verify)))

    def run(self, limit_s: float = 300.0) -> Finish:
        """Work until the run is over.

        Raises:
            AssayError: it was not over in time.
        """
        deadline = time.monotonic() + limit_s
        try:
            while True:
                finish = self._loop.turn()
                if finish is not None:
                    return finish
                for client, stage in self._stages:
                    self._work(client, stage)
                if time.monotonic() > deadline:
                    raise AssayError(f"an inline run must be over within {limit_s:g} s")
        finally:
            self._close()

    def _work(self, client: Client, stage: Stage) -> None:
        for order in client.poll():
            if isinstance(order, Stop):
                client.close(order.reason, timeout_s=1.0)
            else:
                stage.take(order)
        until_s = time.monotonic() + _SPELL_S
        stage.work()
        while stage.is_busy and time.monotonic() < until_s:
            stage.work()

    def _close(self) -> None:
        for client, stage in self._stages:
            client.close("ended", timeout_s=1.0)
            stage.close()
        self._loop.close()
        self._context.destroy(linger=0)


def inline_folder(path: Path) -> RunFolder:
    """Return a run folder for an inline run, made where it is missing."""
    path.mkdir(parents=True, exist_ok=True)
    folder = RunFolder(path)
    folder.logs.mkdir(exist_ok=True)
    return folder
