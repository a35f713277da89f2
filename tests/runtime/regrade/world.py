"""A run's folder with real trajectories, tasks and verdicts, written through the real store, desk and ledger."""

import importlib.metadata
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.core.array import Array
from assay.core.message import Message
from assay.core.registry import Registry
from assay.core.task import Task, TaskRef
from assay.core.trajectory import Segment, Trace, Trajectory, Turn, WeightVersion
from assay.core.verdict import Scored, Unscored, Verdict
from assay.dsl.compile import Compiled, compile_bytes
from assay.dsl.program import Program
from assay.runtime import builtin
from assay.runtime.cli.try_ import try_plan
from assay.runtime.coordinator.instruction import Write
from assay.runtime.coordinator.ledger import Ledger
from assay.runtime.run.build import build_entry
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import write_plan
from assay.runtime.stage.verify import to_episode
from assay.runtime.store.local import LocalStore
from assay.runtime.verify.grade import GradeDesk, Rubric, mode_of
from assay.runtime.verify.host import VerifierHost

DOMAIN = """\
assay: 1
domain: edit.me
version: 1
summary: Numbers as texts.
fields: {q: str, expected: str, weight: "float[0,2]"}
data:
  train:
    - {q: a, expected: "10", weight: 1.0}
    - {q: b, expected: "2.5", weight: 2.0}
    - {q: c, expected: "7", weight: 0.5}
    - {q: d, expected: "100", weight: 1.5}
prompt: "{q}"
params: {solve: 1.0, tol: 0.5, wrong: -1.0}
answer: after("=")
verify:
  num: number.equal(expected, abs=tol)
  text: text.equal(expected)
reward:
  gate:
    - {name: number, if: num.parsed, else: wrong}
  outcome:
    correct: weight*(solve*num.equal)
    exact: 0.2*text.equal
  process:
    long: -0.01*min(trace.tokens, 20)
group: {size: 4, min_scored: 2}
"""

# Completions of each group: exact, near, far, no number, no answer at all.
SAID = (
    ("=10", "so =10.3", "=11", "=ten"),
    ("=2.50", "I think =2.5", "=3.2", "two and a half"),
    ("=7", "=7", "=8", "long long long long long =7.0"),
    ("=100", "=1e2", "=hundred", "=99"),
)
BROKEN = 9
"""The episode that the run's sandbox lost."""


def make_registry() -> Registry:
    registry = Registry()
    registry.add(builtin, "assay-rl", importlib.metadata.version("assay-rl"))
    return registry


class World:
    """The folder, and what brute force finds for an edit."""

    def __init__(self, path: Path) -> None:
        self.folder = RunFolder(path)
        self.registry = make_registry()
        self.program = self.compile(DOMAIN).require()
        self.host = VerifierHost()
        self.episodes = [(task, trajectory) for task, trajectory in self._played()]
        self.verdicts = self.grade(self.program)
        self.verdicts[BROKEN] = Unscored("sandbox_lost", "the box is gone", "text")
        self._write()

    def compile(self, text: str) -> Compiled:
        return compile_bytes(text.encode(), self.registry, "edit.yaml", Path("."))

    def grade(self, program: Program) -> dict[int, Verdict]:
        """Grade every stored episode from scratch."""
        leaves, modes = {}, {}
        for verify in program.verify.values():
            offer = self.registry.find("verifier", verify.use.leaf)
            leaves[verify.use.leaf], modes[verify.use.leaf] = offer.ref, mode_of(offer.value)
        if program.answer is not None:
            leaves[program.answer.leaf] = self.registry.find("parser", program.answer.leaf).ref
        desk = GradeDesk(self.host, {"edit": Rubric(program, leaves, modes)})
        for number, (task, trajectory) in enumerate(self.episodes):
            desk.submit(number, "edit", to_episode(number, task, trajectory))
        found: dict[int, Verdict] = {}
        while desk.num_open:
            found |= dict(desk.poll(60.0))
        return found

    def _played(self) -> Sequence[tuple[Task, Trajectory]]:
        found = []
        rows = self.program.data["train"].rows  # type: ignore[union-attr]
        for index, texts in enumerate(SAID):
            ref = TaskRef("rows", "train", index)
            for text in texts:
                task = Task(ref, self.program.identity, dict(rows[index]))
                found.append((task, _trajectory(len(found), ref, rows[index]["q"], text)))
        return found

    def _write(self) -> None:
        self.folder.path.mkdir()
        entry = build_entry("edit", 1.0, self.compile(DOMAIN), self.registry)
        plan = try_plan(entry, "stub", self.registry)
        factories = {**plan.factories, "algorithm": self.registry.find("algorithm", "grpo").ref}
        settings = {**plan.settings, "algorithm": {"shuffle_rewards": False, "options": {}}}
        plan = msgspec.structs.replace(plan, factories=factories, settings=settings)
        write_plan(self.folder.path, plan)
        (self.folder.path / "config.yaml").write_text(
            "domain:\n  edit:\n" + "".join(f"    {line}\n" for line in DOMAIN.splitlines())
        )
        store = LocalStore(self.folder.blobs, "test-0")
        ledger = Ledger(self.folder.ledger, plan.digest)
        ledger.commit(self._writes(store))
        store.close()
        ledger.close()

    def _writes(self, store: LocalStore) -> list[Write]:
        pack, text = msgspec.msgpack.encode, lambda value: msgspec.json.encode(value).decode()
        writes = []
        for index in range(len(SAID)):
            task = self.episodes[4 * index][0]
            writes.append(Write("task", ("edit", "train", index, task.hash, pack(store.put(pack(task))), "", "")))
            writes.append(Write("grp", (index, "edit", "train", index, 0, "", 4, 0, "trained", "", 1, index)))
        for number, (_, trajectory) in enumerate(self.episodes):
            blob, trace = pack(store.put(pack(trajectory))), trajectory.trace
            writes.append(Write("planned", (number, number // 4, number % 4, 1, 0.0)))
            writes.append(Write("rolled", (number, 0, blob, text(trace), trace.tokens, trace.tokens, 1.0, 0)))
            verdict = self.verdicts[number]
            told: tuple[object, ...] = (None, None, None)
            if isinstance(verdict, Scored):
                told = (verdict.payout.reward, verdict.payout.success, text(verdict.payout.terms))
            writes.append(Write("verdict", (number, *told, text(verdict), 0.1, 2.0)))
            writes.append(Write("state", ("trained", "", 0, number)))
        number = len(self.episodes)
        writes.append(Write("grp", (99, "edit", "train", 0, 0, "", 1, 0, "open", "", 0, -1)))
        writes.append(Write("planned", (number, 99, 0, 1, 3.0)))
        advantages = (Array.of(range(4), "int64"), Array.of([1.5, 0.5, -0.5, -1.5], "float64"))
        writes.append(Write("commits", (WeightVersion(0, 1).pack(), "{}", pack(advantages), 0.1, 0.1, 4.0)))
        store.sync()
        return writes


def _trajectory(number: int, ref: TaskRef, question: str, text: str) -> Trajectory:
    answer = text.rpartition("=")[2] if "=" in text else None
    ids = [ord(char) for char in text]
    segment = Segment(
        None,
        Array.of([1], "int32"),
        Array.of(ids, "int32"),
        Array.of([1] * len(ids), "uint8"),
        Array.of([0.0] * len(ids), "float32"),
        Array.of([0] * len(ids), "int64"),
        "stop",
    )
    turn = Turn((Message.of_text("user", question),), Message.of_text("assistant", text), 0)
    trace = Trace(1, len(ids), 1, parsed=answer is not None, wall_s=0.25)
    return Trajectory(number, ref, 1, (segment,), (turn,), text, answer, trace)
