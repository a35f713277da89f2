"""Bytes of everything that is sent or stored: they never change for what exists, and they grow at the end alone."""

import json
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core import wire
from assay.core.array import Array
from assay.core.blob import BlobRef
from assay.core.error import WireError
from assay.core.group import Batch, DemonstrationRef, Group, Sibling
from assay.core.lifecycle import Counts, Step
from assay.core.message import ImagePart, Message, TextPart, ToolCallPart, ToolResultPart
from assay.core.task import Demonstration, Task, TaskRef
from assay.core.trajectory import Segment, Trace, Trajectory, Turn, WeightVersion
from assay.core.verdict import Measurement, Payout, Scored, Unscored

GOLDEN: dict[str, str] = json.loads(Path(__file__).with_name("golden_bytes.json").read_text())

REF = TaskRef("s" * 8, "train", 7)
BLOB = BlobRef("ab" * 32, 12, "rollout-0~0.seg", 48)
VERSION = WeightVersion(1, 42)
TRACE = Trace(1, 4, 9, 1, 0, False, True, 0.5)
INTS, FLOATS = Array.of([1, 2], "int32"), Array.of([-0.5, -1.5], "float32")
MESSAGE = Message(
    "assistant",
    (
        TextPart("hé"),
        ImagePart(BLOB, "image/png"),
        ToolCallPart("c1", "shell", {"cmd": "ls"}, False),
        ToolResultPart("c1", "out", True),
    ),
)
TASK = Task(REF, "local/demo.adder@1", {"question": "1+1", "expected": "2"})
SEGMENT = Segment(None, INTS, INTS, Array.of([1, 0], "uint8"), FLOATS, Array.of([VERSION.pack()] * 2, "int64"), "stop")
TRAJECTORY = Trajectory(5, REF, 99, (SEGMENT,), (Turn((MESSAGE,), MESSAGE, 0),), "2", None, TRACE)
MEASUREMENT = Measurement("d:1:m:o", 2, {"equal": True, "ratio": 0.5, "names": ["a"], "none": None}, 0.25, 0.01)
SCORED = Scored({"ans": MEASUREMENT}, Payout(1.5, True, None, {"outcome.right": 1.5}), "dd", "rr")
UNSCORED = Unscored("verifier_timeout", "60 s", "ans", {"pre": MEASUREMENT})
GROUP = Group(3, "spell", REF, (Sibling(5, 1.5, BLOB, VERSION),))
BATCH = Batch(43, "rl", (GROUP,), (DemonstrationRef("spell", REF, BLOB),), True)
CHECKPOINT = wire.Checkpoint(VERSION, "checkpoints/42", "cd" * 4)
WEIGHTS = wire.Weights(VERSION, "weights/1.42", "ef" * 4)

STORED: dict[str, msgspec.Struct] = {
    "Array": FLOATS,
    "BlobRef": BLOB,
    "TaskRef": REF,
    "Task": TASK,
    "Demonstration": Demonstration(TASK, "2"),
    "Message": MESSAGE,
    "Trajectory": TRAJECTORY,
    "Scored": SCORED,
    "Unscored": UNSCORED,
    "Batch": BATCH,
    "Step": Step(5, "rolled", "verifying", "why", 1.5),
    "Counts": Counts(5, 1, 1, {"unscored": 2}, 1),
}
REPORTS: list[wire.Report] = [
    wire.Hello("verify", "verify-0", 321, (1, 1), "pd", {"slots": 1.0}, (wire.Held(9, 5, VERSION),)),
    wire.Heartbeat((9, 10)),
    wire.Goodbye("stop"),
    wire.Fault("no room", True),
    wire.TasksReady(9, "spell", "demos", (wire.ReadyTask(7, BLOB, "hh"),), (wire.FailedTask(8, "bad_row", "field a"),)),
    wire.EpisodeDone(9, 5, BLOB, VERSION, TRACE, 4, 77),
    wire.EpisodeFailed(9, 5, "engine", "lost"),
    wire.VerdictDone(9, 5, SCORED, 0.25),
    wire.VerifyFailed(9, 5, "process_died", "signal 9"),
    wire.Resume(40),
    wire.Take(1, 43),
    wire.Commit(VERSION, {"loss": 0.5}, Array.of([5], "int64"), Array.of([0.5], "float64"), CHECKPOINT, 0.1, 0.2),
    wire.WeightsPublished(WEIGHTS),
    wire.CheckpointSaved(CHECKPOINT),
]
ORDERS: list[wire.Order] = [
    wire.Welcome(1, 2, 1.0, CHECKPOINT),
    wire.Refused("another plan"),
    wire.WhoAreYou(),
    wire.Ack((1, 2, 300)),
    wire.LeaseTasks(9, "spell", "train", (7, 8)),
    wire.LeaseEpisode(9, 5, 3, 1, "spell", REF, BLOB, 2**62, VERSION, VERSION, 60.0),
    wire.LeaseVerify(9, 5, "spell", "auto", BLOB, BLOB, 60.0),
    wire.Cancel((9,)),
    wire.Resumed(VERSION),
    wire.BatchReady(BATCH, 1, "rl", 3, 100, True, False, True),
    wire.PublishWeights(False),
    wire.UseWeights(WEIGHTS),
    wire.Stop("finished"),
]


def samples() -> dict[str, tuple[bytes, Any]]:
    """Return the bytes and the value of one sample of everything, by name."""
    stored = {name: (msgspec.msgpack.encode(value), value) for name, value in STORED.items()}
    reports = {type(item).__name__: (wire.encode_reports([(7, item)]), [(7, item)]) for item in REPORTS}
    orders = {type(item).__name__: (wire.encode_orders([item]), [item]) for item in ORDERS}
    return {**stored, **reports, **orders}


@pytest.mark.parametrize("name", sorted(samples()))
def test_bytes_are_those_of_the_first_edition(name: str) -> None:
    assert GOLDEN[name] == samples()[name][0].hex()


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_golden_bytes_give_back_the_value(name: str) -> None:
    data, value = bytes.fromhex(GOLDEN[name]), samples()[name][1]
    if name in STORED:
        assert value == msgspec.msgpack.decode(data, type=type(value))
    else:
        is_report = isinstance(value[0], tuple)
        assert value == (wire.decode_reports(data) if is_report else wire.decode_orders(data))


def test_every_message_has_golden_bytes() -> None:
    members = {member.__name__ for member in (*typing.get_args(wire.Report), *typing.get_args(wire.Order))}
    assert members <= set(GOLDEN)


def test_field_of_a_later_edition_is_passed_over() -> None:
    later = msgspec.msgpack.encode([[0, ["heartbeat", [9], [], "a field nobody knows yet"]]])
    assert [(0, wire.Heartbeat((9,)))] == wire.decode_reports(later)


def test_field_an_earlier_edition_did_not_have_takes_its_default() -> None:
    earlier = msgspec.msgpack.encode([[1, ["episode_done", 9, 5, list(msgspec.to_builtins(BLOB)), [1, 42], [1, 4, 9]]]])
    assert [(1, wire.EpisodeDone(9, 5, BLOB, VERSION, Trace(1, 4, 9)))] == wire.decode_reports(earlier)


@given(st.binary(max_size=200))
def test_random_bytes_are_malformed_and_nothing_worse(data: bytes) -> None:
    for decode in (wire.decode_reports, wire.decode_orders):
        try:
            decode(data)
        except WireError as error:
            assert "a frame must hold" in str(error)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode([[1, ["heartbeat"], 3]]),
        msgspec.msgpack.encode([[1, ["exec", "rm"]]]),
        msgspec.msgpack.encode([["1", ["heartbeat", []]]]),
        msgspec.msgpack.encode([[1, ["take", 0, "nine"]]]),
        b"\x91\x92\x00\x93\xa9heartbeat\x90" + b"\x91" * 100_000 + b"\x90",
    ],
)
def test_frame_of_something_else_is_refused(frame: bytes) -> None:
    with pytest.raises(WireError, match="reports of this protocol"):
        wire.decode_reports(frame)
