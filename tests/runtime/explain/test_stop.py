"""An episode of several turns, stored by the real store and ledger, is explained by where it might have stopped."""

import importlib.metadata
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.array import Array
from assay.core.message import Message, TextPart, ToolCallPart
from assay.core.registry import Registry
from assay.core.task import Task, TaskRef
from assay.core.trajectory import Segment, Trace, Trajectory, Turn
from assay.core.verdict import Measurement, Scored
from assay.dsl.compile import compile_bytes
from assay.dsl.reduce import Grader
from assay.runtime import builtin
from assay.runtime.cli.try_ import try_plan
from assay.runtime.coordinator.instruction import Write
from assay.runtime.coordinator.ledger import Ledger
from assay.runtime.explain.episode import Explanation, explain_episode
from assay.runtime.explain.stop import stops
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.run.build import build_entry
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import write_plan
from assay.runtime.store.local import LocalStore

DOMAIN = """\
assay: 1
domain: long.episode
version: 1
fields: {q: str, expected: str}
data: {train: [{q: a, expected: "1"}]}
prompt: "{q}"
verify:
  num: number.equal(expected)
reward:
  outcome:
    correct: 1.0*num.equal
  process:
    late: -0.02*clip(trace.turns - 18, 0, 30)
    invalid: -0.05*min(trace.invalid_calls, 3)
    long: -0.001*clip(trace.tokens - 190, 0, 500)
"""
TURNS, TOKENS = 38, 10


def played(num_turns: int, num_tokens: int = TOKENS) -> Trajectory:
    """Return an episode that calls a tool in every turn but the last, and wrongly in turn 20."""
    ref = TaskRef("rows", "train", 0)
    segments, turns = [], []
    for number in range(num_turns):
        sampled = Array.of([7] * num_tokens, "int32")
        flat = Array.of([0.0] * num_tokens, "float32")
        mask, versions = Array.of([1] * num_tokens, "uint8"), Array.of([0] * num_tokens, "int64")
        parent = number - 1 if number else None
        segments.append(Segment(parent, Array.of([1, 2], "int32"), sampled, mask, flat, versions, "stop"))
        call = ToolCallPart(f"c{number}", "shell", {}, is_valid=number != 19)
        is_last = number + 1 == num_turns
        said = Message("assistant", (TextPart("1"),) if is_last else (TextPart("x"), call))
        turns.append(Turn((Message.of_text("user", "a"),), said, number))
    calls = num_turns - 1
    trace = Trace(num_turns, num_turns * num_tokens, 2 * num_turns, calls, int(num_turns > 20), wall_s=1.0)
    return Trajectory(0, ref, 1, tuple(segments), tuple(turns), "1", "1", trace)


@pytest.fixture
def explain(tmp_path: Path) -> Any:
    """Store an episode in a run of its own, and explain it from there."""

    def run(trajectory: Trajectory) -> Explanation:
        registry = Registry()
        registry.add(builtin, "assay-rl", importlib.metadata.version("assay-rl"))
        compiled = compile_bytes(DOMAIN.encode(), registry, "long.yaml", Path("."))
        folder = RunFolder(tmp_path / "stored")
        folder.path.mkdir()
        plan = try_plan(build_entry("long", 1.0, compiled, registry), "stub", registry)
        write_plan(folder.path, plan)
        store, ledger = LocalStore(folder.blobs, "test-0"), Ledger(folder.ledger, plan.digest)
        pack, text = msgspec.msgpack.encode, lambda value: msgspec.json.encode(value).decode()
        task = Task(trajectory.task, compiled.require().identity, {"q": "a", "expected": "1"})
        signals = {"num": {"equal": True, "parsed": True, "value": 1.0}}
        trace = msgspec.structs.asdict(trajectory.trace)
        payout = Grader(compiled.require()).payout({**signals, "trace": trace}, task.fields)
        verdict = Scored({"num": Measurement("v", 1, signals["num"], 0.1)}, payout, "d", "r")
        tokens = trajectory.trace.tokens
        ledger.commit([
            Write("task", ("long", "train", 0, task.hash, pack(store.put(pack(task))), "", "")),
            Write("grp", (0, "long", "train", 0, 0, "", 4, 0, "trained", "", 1, 0)),
            Write("planned", (0, 0, 0, 1, 0.0)),
            Write("rolled", (0, 0, pack(store.put(pack(trajectory))), text(trajectory.trace), tokens, tokens, 1.0, 0)),
            Write("verdict", (0, payout.reward, payout.success, text(payout.terms), text(verdict), 0.1, 2.0)),
            Write("state", ("trained", "", 0, 0)),
        ])  # fmt: skip
        store.sync()
        store.close()
        ledger.close()
        with StoredRun(folder) as stored:
            return explain_episode(stored, 0)

    return run


def test_earlier_end_takes_turns_tokens_and_calls_with_it(explain: Any) -> None:
    found = explain(played(TURNS))
    texts = [one.text for one in found.counterfactuals]

    # 20 turns too late at 0.02, one invalid call at 0.05, 190 tokens too many at 0.001.
    assert "0.64 higher had it stopped at turn 18" in texts
    (stop,) = [one for one in found.counterfactuals if one.signal == "trace.turns" and one.value == 18]
    assert {"turns": 18, "tokens": 180, "invalid_calls": 0} == stop.trace
    gains = [one for one in found.counterfactuals if one.gain is not None and one.gain > 0]
    assert {"trace.turns"} == {one.signal for one in gains}


def test_every_stop_is_what_the_scalar_back_end_pays(explain: Any) -> None:
    found = explain(played(TURNS))
    registry = Registry()
    registry.add(builtin, "assay-rl", "0")
    grader = Grader(compile_bytes(DOMAIN.encode(), registry, "long.yaml", Path(".")).require())
    moves = [one for one in found.counterfactuals if one.signal == "trace.turns" and one.value < TURNS]

    assert moves
    for one in moves:
        trace = {**found.signals["trace"], **one.trace}
        assert one.reward == grader.payout({**found.signals, "trace": trace}, {}).reward


def test_one_turn_is_said_in_fewer_tokens(explain: Any) -> None:
    found = explain(played(1, 200))

    assert ["0.01 higher had it said the same in 190 tokens"] == [
        one.text for one in found.counterfactuals if one.gain is not None and one.gain > 0
    ]


def test_stops_add_up_to_the_trace_or_there_are_none() -> None:
    whole = played(5)
    assert [(1, 10, 2, 1, 0), (2, 20, 4, 2, 0), (3, 30, 6, 3, 0), (4, 40, 8, 4, 0)] == [
        tuple(stop.trace[name] for name in ("turns", "tokens", "prompt_tokens", "tool_calls", "invalid_calls"))
        for stop in stops(whole)
    ]
    other = msgspec.structs.replace(whole, trace=msgspec.structs.replace(whole.trace, tokens=49))
    assert [] == stops(other)
    assert [] == stops(played(1))
