"""Episodes a second of `assay regrade`: reduced by arithmetic (REDUCE), and sent through a verifier (REGRADE).

The regrade is the whole one: stored episodes are read from the ledger and blobs of a run folder, REGRADE verifies in a
locked-down worker process, new verdicts are written to an archive. Each figure is the median of `REPEATS` over one run
folder; reading, writing and the start of the verifier process are part of it.
"""

import statistics
import tempfile
from pathlib import Path

import msgspec

from assay.core.array import Array
from assay.core.message import Message
from assay.core.registry import Registry, installed
from assay.core.task import Task, TaskRef
from assay.core.trajectory import Segment, Trace, Trajectory, Turn
from assay.core.verdict import Measurement, Payout, Scored
from assay.dsl.compile import compile_bytes
from assay.runtime.cli.try_ import try_plan
from assay.runtime.coordinator.instruction import Write
from assay.runtime.coordinator.ledger import Ledger
from assay.runtime.regrade.archive import Archive
from assay.runtime.regrade.regrade import Regrader
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.run.build import build_entry
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import write_plan
from assay.runtime.store.local import LocalStore

NAME = "regrade"
REDUCED, REGRADED, GROUP = 65_536, 4_096, 8
REPEATS = 5

DOMAIN = """assay: 1
domain: bench.regrade
version: 1
fields: {q: str, expected: str}
data: {train: [{q: a, expected: "2"}]}
prompt: "{q}"
verify:
  num: number.equal(expected)
reward:
  outcome:
    correct: 1.0*num.equal
  process:
    long: -0.01*min(trace.tokens, 20)
"""
EDITS = {
    "reduce": ("1.0*num.equal", "0.5*num.equal"),
    "regrade": ("number.equal(expected)", "number.equal(expected, abs=0.5)"),
}


def run() -> dict[str, float]:
    """Return episodes a second of both ways."""
    return {"reduce_episodes_per_s": _rate("reduce", REDUCED), "regrade_episodes_per_s": _rate("regrade", REGRADED)}


def _rate(way: str, size: int) -> float:
    """Return episodes a second, the median of several runs."""
    registry = installed()
    with tempfile.TemporaryDirectory() as scratch:
        folder = RunFolder(Path(scratch))
        _fill(folder, size)
        return size / statistics.median(_seconds(way, size, folder, registry) for _ in range(REPEATS))


def _seconds(way: str, size: int, folder: RunFolder, registry: Registry) -> float:
    text = DOMAIN.replace(*EDITS[way])
    after = compile_bytes(text.encode(), registry, "bench.yaml", folder.path).require()
    with StoredRun(folder) as stored, Archive(folder.path) as archive:
        found = Regrader(stored, archive, registry).regrade("bench", after)
        archive.keep({})
    assert found.priced.episodes == {way.upper(): size}
    return found.reduce_s + found.regrade_s


def _fill(folder: RunFolder, size: int) -> None:
    """Write a run of `size` episodes of one task; half are right."""
    registry = installed()
    compiled = compile_bytes(DOMAIN.encode(), registry, "bench.yaml", folder.path)
    plan = try_plan(build_entry("bench", 1.0, compiled, registry), "stub", registry)
    write_plan(folder.path, plan)
    program, pack, text = compiled.require(), msgspec.msgpack.encode, lambda value: msgspec.json.encode(value).decode()
    store, ledger = LocalStore(folder.blobs, "bench-0"), Ledger(folder.ledger, plan.digest)
    ref = TaskRef("rows", "train", 0)
    task = Task(ref, program.identity, {"q": "a", "expected": "2"})
    writes = [Write("task", ("bench", "train", 0, task.hash, pack(store.put(pack(task))), "", ""))]
    for number in range(size):
        is_right, group = number % 2 == 0, number // GROUP
        if number % GROUP == 0:
            writes.append(Write("grp", (group, "bench", "train", 0, 0, "", GROUP, 0, "trained", "", 1, group)))
        trajectory = _trajectory(number, ref, "2" if is_right else "3")
        measured = {"num": Measurement("assay-rl:0:m:a", 1, {"equal": is_right, "parsed": True})}
        payout = Payout(is_right - 0.01, is_right, None, {"outcome.correct": float(is_right), "process.long": -0.01})
        verdict = Scored(measured, payout, program.digest, program.digests["reward"])
        blob = pack(store.put(pack(trajectory)))
        writes.append(Write("planned", (number, group, number % GROUP, 1, 0.0)))
        writes.append(Write("rolled", (number, 0, blob, text(trajectory.trace), 1, 1, 1.0, 0)))
        writes.append(Write("verdict", (number, payout.reward, is_right, text(payout.terms), text(verdict), 0.1, 2.0)))
        writes.append(Write("state", ("trained", "", 0, number)))
    store.close()
    ledger.commit(writes)
    ledger.close()


def _trajectory(number: int, ref: TaskRef, answer: str) -> Trajectory:
    ids, zeros = Array.of([ord(answer)], "int32"), Array.of([0], "int64")
    segment = Segment(None, ids, ids, Array.of([1], "uint8"), Array.of([0.0], "float32"), zeros, "stop")
    turn = Turn((Message.of_text("user", "a"),), Message.of_text("assistant", answer), 0)
    return Trajectory(number, ref, 1, (segment,), (turn,), answer, answer, Trace(1, 1, 1))
