"""What workers and the coordinator say to each other.

A worker connects one DEALER and sends *reports* (past facts); the coordinator binds one ROUTER and sends *orders*. One
frame holds one message or several. Reports travel as `[sequence, report]`: a report whose sequence is above 0 is sent
again until `Ack` names it, which happens only after the ledger's commit; one that arrives twice has one effect, because
its effect is keyed by what it speaks of and not by the sequence. Bodies of tasks, trajectories and weights bypass these
messages: a `BlobRef` or a folder stands for them.

Structs are array-like and append-only: a new field goes to the end and has a default.
"""

from typing import Literal

import msgspec

from assay.core.array import Array
from assay.core.blob import BlobRef
from assay.core.error import WireError
from assay.core.group import Batch
from assay.core.task import TaskRef
from assay.core.trajectory import Trace, WeightVersion
from assay.core.verdict import Verdict

PROTOCOL = 1
# A frame of control messages is a few kilobytes; whoever sends more than this is broken or hostile.
MAX_FRAME_BYTES = 16 << 20

Role = Literal["source", "rollout", "verify", "update"]
Split = Literal["train", "eval", "demos", "canary"]
StageKind = Literal["sft", "rl"]
FailureCause = Literal["infra", "engine", "timeout", "process_died", "lost_blob", "cancelled"]


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """A checkpoint the ledger vouches for; `digest` is what `Trainer.save` returned."""

    version: WeightVersion
    folder: str
    digest: str


class Weights(msgspec.Struct, frozen=True, array_like=True):
    """Published weights: a version, the folder that holds it and its digest where the publisher makes one."""

    version: WeightVersion
    folder: str
    digest: str = ""


class Held(msgspec.Struct, frozen=True, array_like=True):
    """A lease a worker still works on; it lets a restarted coordinator take the work over instead of repeating it."""

    lease: int
    episode: int
    oldest: WeightVersion = WeightVersion(0, 0)


# Reports: worker -> coordinator


class Hello(msgspec.Struct, frozen=True, array_like=True, tag="hello"):
    """A worker is there; sent first, and again whenever the coordinator asks `WhoAreYou`.

    Attributes:
        role: What it does.
        worker: Name that survives restarts of the process, such as `verify-0`.
        pid: Of the process; another pid under the same name means that the former one is dead.
        protocol: Lowest and highest protocol it speaks.
        plan_digest: Of the plan it was started with; another plan is refused.
        capacity: Items at once, under `slots`, and any further resources.
        held: Leases it still works on.
    """

    role: Role
    worker: str
    pid: int
    protocol: tuple[int, int]
    plan_digest: str
    capacity: dict[str, float]
    held: tuple[Held, ...] = ()


class Heartbeat(msgspec.Struct, frozen=True, array_like=True, tag="heartbeat"):
    """A worker lives and still works on these leases; each of them is renewed, no other is.

    Attributes:
        held: All of them.
        waiting: Those that wait for a judge, so that their time stands still.
    """

    held: tuple[int, ...] = ()
    waiting: tuple[int, ...] = ()


class Goodbye(msgspec.Struct, frozen=True, array_like=True, tag="goodbye"):
    """A worker leaves on purpose; its leases go back at once and nobody is blamed."""

    reason: str = ""


class Fault(msgspec.Struct, frozen=True, array_like=True, tag="fault"):
    """Something is wrong with a worker, and it says what.

    The run ends non-zero where `is_fatal`; else it is a line of its log.
    """

    detail: str
    is_fatal: bool = False


class ReadyTask(msgspec.Struct, frozen=True, array_like=True):
    """A task (or `Demonstration`) in the blob store.

    Attributes:
        index: Position in its source.
        blob: msgpack of `core.task.Task`, or of `core.task.Demonstration` for the split `demos`.
        hash: `Task.hash`.
    """

    index: int
    blob: BlobRef
    hash: str


class FailedTask(msgspec.Struct, frozen=True, array_like=True):
    """A row that could not be read or does not fit its domain; counted as `reason` and never tried again."""

    index: int
    reason: str
    detail: str


class TasksReady(msgspec.Struct, frozen=True, array_like=True, tag="tasks_ready"):
    """Answer to `LeaseTasks`: every index leased is in `tasks` or in `failures`."""

    lease: int
    entry: str
    split: Split
    tasks: tuple[ReadyTask, ...]
    failures: tuple[FailedTask, ...] = ()


class EpisodeDone(msgspec.Struct, frozen=True, array_like=True, tag="episode_done"):
    """Answer to `LeaseEpisode`; the trajectory is durable before this is sent.

    Attributes:
        lease: Of the order.
        episode: Number in the ledger.
        trajectory: msgpack of `core.trajectory.Trajectory`.
        version: Weights that sampled the first token.
        trace: Counters.
        num_trained_tokens: Tokens with loss mask 1.
        answer: 63-bit digest of the answer, equal for equal answers; 0 where there is none.
    """

    lease: int
    episode: int
    trajectory: BlobRef
    version: WeightVersion
    trace: Trace
    num_trained_tokens: int = 0
    answer: int = 0


class EpisodeFailed(msgspec.Struct, frozen=True, array_like=True, tag="episode_failed"):
    """The episode could not be played; it is tried again while its retry budget lasts."""

    lease: int
    episode: int
    cause: FailureCause
    detail: str


class VerdictDone(msgspec.Struct, frozen=True, array_like=True, tag="verdict_done"):
    """Answer to `LeaseVerify`: scored, or unscored with its cause."""

    lease: int
    episode: int
    verdict: Verdict
    wall_s: float = 0.0


class VerifyFailed(msgspec.Struct, frozen=True, array_like=True, tag="verify_failed"):
    """No verdict came to be; `process_died` blames the task, which is quarantined after some deaths."""

    lease: int
    episode: int
    cause: FailureCause
    detail: str


class Resume(msgspec.Struct, frozen=True, array_like=True, tag="resume"):
    """The trainer stands at this step: 0 when fresh, else that of the checkpoint it loaded. Answered by `Resumed`."""

    step: int


class Take(msgspec.Struct, frozen=True, array_like=True, tag="take"):
    """The trainer wants the batch of a step (from 1); the same step gets the same batch. Answered by `BatchReady`."""

    lineage: int
    step: int


class Commit(msgspec.Struct, frozen=True, array_like=True, tag="commit"):
    """A step is done; sent after its checkpoint, where it has one.

    Attributes:
        version: Lineage and step.
        metrics: Means by name.
        episodes: int64, shape (N,); episodes whose advantage follows.
        advantages: float64, shape (N,).
        checkpoint: Written before this was sent; None where this step has none.
        wait_s: Seconds the trainer was blocked in Take for this step.
        busy_s: Seconds from batch to commit.
    """

    version: WeightVersion
    metrics: dict[str, float]
    episodes: Array
    advantages: Array
    checkpoint: Checkpoint | None = None
    wait_s: float = 0.0
    busy_s: float = 0.0


class WeightsPublished(msgspec.Struct, frozen=True, array_like=True, tag="weights_published"):
    """The trainer has written a version where rollout workers can read it."""

    weights: Weights


class CheckpointSaved(msgspec.Struct, frozen=True, array_like=True, tag="checkpoint_saved"):
    """The trainer has written a checkpoint outside of a commit, as `PublishWeights` or `Stop` asked."""

    checkpoint: Checkpoint


Report = (
    Hello
    | Heartbeat
    | Goodbye
    | Fault
    | TasksReady
    | EpisodeDone
    | EpisodeFailed
    | VerdictDone
    | VerifyFailed
    | Resume
    | Take
    | Commit
    | WeightsPublished
    | CheckpointSaved
)

# Orders: coordinator -> worker


class Welcome(msgspec.Struct, frozen=True, array_like=True, tag="welcome"):
    """Answer to `Hello`.

    Attributes:
        protocol: The one spoken from now on.
        incarnation: Counts starts of the coordinator.
        heartbeat_s: How often to send `Heartbeat`; leases last three of them.
        checkpoint: For `update`: the newest one in the ledger; None for a fresh run.
    """

    protocol: int
    incarnation: int
    heartbeat_s: float
    checkpoint: Checkpoint | None = None


class Refused(msgspec.Struct, frozen=True, array_like=True, tag="refused"):
    """The worker does not belong to this run: another plan, protocol or role. It must exit."""

    reason: str


class WhoAreYou(msgspec.Struct, frozen=True, array_like=True, tag="who_are_you"):
    """A message came from a worker nobody knows (the coordinator restarted): say `Hello`, then send again."""


class Ack(msgspec.Struct, frozen=True, array_like=True, tag="ack"):
    """These sequences are committed, or were before."""

    sequences: tuple[int, ...]


class LeaseTasks(msgspec.Struct, frozen=True, array_like=True, tag="lease_tasks"):
    """Read rows of a mix entry and put their bodies into the store."""

    lease: int
    entry: str
    split: Split
    indices: tuple[int, ...]


class LeaseEpisode(msgspec.Struct, frozen=True, array_like=True, tag="lease_episode"):
    """Play one episode.

    Attributes:
        lease: To be named in the answer.
        episode: Number in the ledger.
        group: Number of its group; siblings share prompt and therefore prefix.
        sibling: Position in the group, from 0.
        entry: Name of the mix entry.
        task: Its name.
        body: msgpack of `core.task.Task`.
        seed: Of the sampler; a re-run keeps it.
        oldest: Oldest weights that may sample the first token; what is older is refused.
        pinned: Weights that must sample every token, greedily; None for training.
        max_runtime_s: After so long the worker gives up with `timeout`.
    """

    lease: int
    episode: int
    group: int
    sibling: int
    entry: str
    task: TaskRef
    body: BlobRef
    seed: int
    oldest: WeightVersion
    pinned: WeightVersion | None
    max_runtime_s: float


class LeaseVerify(msgspec.Struct, frozen=True, array_like=True, tag="lease_verify"):
    """Verify one episode.

    Attributes:
        lease: To be named in the answer.
        episode: Number in the ledger.
        entry: Name of the mix entry.
        tier: Cost tier.
        body: msgpack of `core.task.Task`.
        trajectory: msgpack of `core.trajectory.Trajectory`.
        max_runtime_s: After so long the worker kills the verification.
    """

    lease: int
    episode: int
    entry: str
    tier: str
    body: BlobRef
    trajectory: BlobRef
    max_runtime_s: float


class Cancel(msgspec.Struct, frozen=True, array_like=True, tag="cancel"):
    """Stop working on these leases; no answer is needed."""

    leases: tuple[int, ...]


class Resumed(msgspec.Struct, frozen=True, array_like=True, tag="resumed"):
    """Answer to `Resume`: the version the trainer stands at, in the lineage that is its own from now on.

    The trainer publishes this version at once, then takes `step + 1`.
    """

    version: WeightVersion


class BatchReady(msgspec.Struct, frozen=True, array_like=True, tag="batch_ready"):
    """Answer to `Take`.

    Attributes:
        batch: Groups of an `rl` stage, or demonstrations of an `sft` stage.
        lineage: Of the `Take` answered.
        kind: Of the stage.
        stage_step: Step inside the stage, from 1.
        num_stage_steps: Length of the stage for schedules; 0 where a rule decides.
        should_reset_optimizer: First step of a stage that asks for it.
        should_publish: Publish the version this step makes.
        should_checkpoint: Save a checkpoint before `Commit`.
    """

    batch: Batch
    lineage: int
    kind: StageKind
    stage_step: int
    num_stage_steps: int
    should_reset_optimizer: bool = False
    should_publish: bool = True
    should_checkpoint: bool = False


class PublishWeights(msgspec.Struct, frozen=True, array_like=True, tag="publish_weights"):
    """A stage is over: save the present version and publish it, each unless done, then go on waiting in `Take`."""

    should_checkpoint: bool = True


class UseWeights(msgspec.Struct, frozen=True, array_like=True, tag="use_weights"):
    """Rollout workers sample from this version now; versions of an older lineage are void."""

    weights: Weights


class Stop(msgspec.Struct, frozen=True, array_like=True, tag="stop"):
    """The run is over or drained: finish what is being sent, say `Goodbye`, exit 0.

    A trainer whose weights are newer than its newest checkpoint saves one and sends `CheckpointSaved` before.
    """

    reason: str


Order = (
    Welcome
    | Refused
    | WhoAreYou
    | Ack
    | LeaseTasks
    | LeaseEpisode
    | LeaseVerify
    | Cancel
    | Resumed
    | BatchReady
    | PublishWeights
    | UseWeights
    | Stop
)

_encoder = msgspec.msgpack.Encoder()
_reports = msgspec.msgpack.Decoder(list[tuple[int, Report]])
_orders = msgspec.msgpack.Decoder(list[Order])
# RecursionError: a frame of nothing but opening brackets.
_MALFORMED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def encode_reports(reports: list[tuple[int, Report]]) -> bytes:
    """Pack reports, each with its sequence (0 for one that is never sent again), into one frame."""
    return _encoder.encode(reports)


def decode_reports(frame: bytes | memoryview) -> list[tuple[int, Report]]:
    """Undo `encode_reports`.

    Raises:
        WireError: the frame is no list of reports of this protocol.
    """
    try:
        return _reports.decode(frame)
    except _MALFORMED as error:
        raise WireError("a frame must hold reports of this protocol", got=str(error)) from None


def encode_orders(orders: list[Order]) -> bytes:
    """Pack orders into one frame."""
    return _encoder.encode(orders)


def decode_orders(frame: bytes | memoryview) -> list[Order]:
    """Undo `encode_orders`.

    Raises:
        WireError: the frame is no list of orders of this protocol.
    """
    try:
        return _orders.decode(frame)
    except _MALFORMED as error:
        raise WireError("a frame must hold orders of this protocol", got=str(error)) from None
