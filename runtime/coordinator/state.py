"""What the core knows: workers, leases, tasks, groups, episodes and where the curriculum stands.

Plain data with no behaviour beyond look-ups. Ended episodes leave memory; `Counts` and the ledger keep them.
"""

from collections import deque
from dataclasses import dataclass, field
from math import inf, nextafter
from typing import Any

from assay.core.blob import BlobRef
from assay.core.group import Batch
from assay.core.lifecycle import Counts, Purpose, State
from assay.core.scheduler import TaskStats, Waiting
from assay.core.task import TaskRef
from assay.core.trajectory import WeightVersion
from assay.core.wire import Checkpoint, Role, Split, Weights
from assay.runtime.audit.finding import Subject
from assay.runtime.audit.stream import Audit
from assay.runtime.coordinator.spec import EntrySpec, RunSpec


@dataclass(slots=True, eq=False)
class Worker:
    """One connected worker."""

    peer: bytes
    role: Role
    name: str
    pid: int
    capacity: dict[str, float]
    free: dict[str, float]
    seen_s: float
    leases: set[int] = field(default_factory=set)
    has_resumed: bool = False


@dataclass(slots=True, eq=False)
class Lease:
    """Work given to one worker: an episode to play or verify, or rows to read (`episode` is None).

    `is_waiting` while its worker says that it waits for a judge.
    """

    number: int
    worker: Worker
    deadline_s: float
    latest_s: float
    episode: "Episode | None" = None
    needs: dict[str, float] = field(default_factory=dict)
    entry: str = ""
    split: Split = "train"
    indices: tuple[int, ...] = ()
    is_waiting: bool = False


@dataclass(slots=True, eq=False)
class Episode:
    """One episode that has not ended."""

    number: int
    group: "Group"
    sibling: int
    seed: int
    planned_s: float
    state: State = "planned"
    reason: str = ""
    retries: int = 0
    lease: Lease | None = None
    oldest: WeightVersion | None = None
    version: WeightVersion | None = None
    trajectory: BlobRef | None = None
    tokens: int = 0
    trained_tokens: int = 0
    turns: int = 0
    is_truncated: bool = False
    answer: int = 0
    wall_s: float = 0.0
    reward: float | None = None
    success: bool = False
    terms: dict[str, float] = field(default_factory=dict)
    story: list[tuple[State, State, str, float]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Group:
    """Siblings of one task; `num_open` of them are neither verified nor dropped."""

    number: int
    entry: EntrySpec
    split: Split
    index: int
    ref: TaskRef
    body: BlobRef
    purpose: Purpose
    stage: int
    evaluation: str
    oldest: WeightVersion
    episodes: list[Episode] = field(default_factory=list)
    num_open: int = 0
    state: str = "open"
    reason: str = ""
    step: int = 0
    position: int = -1


@dataclass(slots=True, eq=False)
class Feed:
    """Tasks of one entry and split, drawn in order and asked for ahead of need.

    Attributes:
        num_drawn: Draws made so far; the seed of the next one.
        ahead: Drawn and not used.
        ready: Bodies that exist.
        failed: Rows that could not be made.
        asked: Indices under a lease.
        quarantined: Rows that killed too many processes.
        deaths: Processes killed, by row.
        is_lost: No row can be made; nobody draws from it any more.
    """

    entry: EntrySpec
    split: Split
    num_drawn: int = 0
    ahead: deque[int] = field(default_factory=deque)
    ready: dict[int, BlobRef] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    asked: set[int] = field(default_factory=set)
    quarantined: set[int] = field(default_factory=set)
    deaths: dict[int, int] = field(default_factory=dict)
    is_lost: bool = False


@dataclass(slots=True, eq=False)
class Tally:
    """What is known of one entry, for shares, rules and the display; `stats` by level and row inside it.

    The three of `seen_*` are of the evaluation that came last: a first guess of what an episode will take.
    """

    trained_episodes: int = 0
    trained_tokens: int = 0
    sampled_episodes: int = 0
    sampled_tokens: int = 0
    unit_groups: int = 0
    unit_sum: float = 0.0
    spent_s: float = 0.0
    spent_episodes: int = 0
    seen_version: WeightVersion | None = None
    seen_episodes: int = 0
    seen_tokens: int = 0
    seen_s: float = 0.0
    recent: deque[dict[str, float]] = field(default_factory=deque)
    stats: dict[int, dict[int, TaskStats]] = field(default_factory=dict)
    level: int = 0
    level_rates: deque[float] = field(default_factory=deque)

    def see(self, version: WeightVersion, tokens: int, wall_s: float) -> None:
        """Take in an episode of an evaluation; those of other weights are forgotten."""
        if version != self.seen_version:
            self.seen_version, self.seen_episodes, self.seen_tokens, self.seen_s = version, 0, 0, 0.0
        self.seen_episodes += 1
        self.seen_tokens += tokens
        self.seen_s += wall_s


@dataclass(slots=True)
class Account:
    """What an entry was given since the targets last changed.

    Attributes:
        units: In the unit of `balance`.
        trained: Groups in committed batches.
        dropped: Groups dropped for a reason of their own; the end of a stage is none.
    """

    units: float = 0.0
    trained: int = 0
    dropped: int = 0


@dataclass(slots=True, eq=False)
class Evaluation:
    """An evaluation that has begun.

    Attributes:
        version: That it pins.
        same: Versions of the same weights, from before the trainer came back from their checkpoint.
        todo: Tasks not planned yet, per entry.
        num_open: Groups planned and not done.
        samples: Episodes of one task.
        canaries: As `todo`, of the split `canary`.
    """

    name: str
    version: WeightVersion
    todo: dict[str, deque[int]]
    num_open: int = 0
    samples: int = 1
    canaries: dict[str, deque[int]] = field(default_factory=dict)
    same: set[WeightVersion] = field(default_factory=set)
    solved: dict[str, int] = field(default_factory=dict)
    scored: dict[str, int] = field(default_factory=dict)
    is_done: bool = False


@dataclass(slots=True, eq=False)
class TakenBatch:
    """A batch as it lies in the ledger."""

    batch: Batch
    stage: int
    stage_step: int
    is_committed: bool = False


@dataclass(slots=True)
class Curriculum:
    """Where the run stands.

    Attributes:
        phase: Index into `RunSpec.phases`; their number when all are over.
        start_step: Step before the first of the present stage.
        is_stage_over: The stage's end is reached; what remains is to publish.
        memory: What the rule of the present stage remembers; None before its first look.
        asked_step: Step it was last asked about.
        frontier: Highest step with a batch.
        lineage: Of the trainer; -1 before the first.
        trainer: Identity the lineage belongs to.
        trainer_step: Step the trainer stands at.
        resumed_step: Step it stood at when its lineage began.
        published: Newest version the trainer wrote.
        visible: Version rollout workers use; held back behind `published` while an evaluation pins it.
        checkpoint: Newest in the ledger.
    """

    phase: int = 0
    start_step: int = 0
    is_stage_over: bool = False
    frontier: int = 0
    lineage: int = -1
    trainer: bytes = b""
    trainer_step: int = 0
    resumed_step: int = 0
    published: Weights | None = None
    visible: Weights | None = None
    checkpoint: Checkpoint | None = None
    memory: Any = None
    asked_step: int = 0


class Run:
    """All of it.

    Attributes:
        now_s: The run's clock at the event being handled.
        verified_s: Time of the last verdict.
        ready: Groups that wait for a batch.
        open_evaluation: The one in progress; at most one is.
        share: Share per entry in the mix, summing to 1.
        planned: Training groups admitted per entry so far.
        target: Share per entry among those that are played now, summing to 1; empty before the first admission.
        accounts: What each entry got of it; see `share`.
        books_from: Number of the first group in the accounts.
        standings: Units and trained groups per entry after each of the last steps.
        starved: Entries far below their target over the last steps.
        audits: What the rewards of each entry pay for.
        canaries: Entry and row of canary tasks that were solved.
        dirty: Episodes whose state the ledger does not know yet.
        dirty_groups: The same for groups.
    """

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        self.now_s = 0.0
        self.verified_s = 0.0
        self.entries = {entry.name: entry for entry in spec.entries}
        self.workers: dict[bytes, Worker] = {}
        self.leases: dict[int, Lease] = {}
        self.feeds: dict[tuple[str, Split], Feed] = {}
        self.groups: dict[int, Group] = {}
        self.ready: dict[int, Group] = {}
        self.episodes: dict[int, Episode] = {}
        self.rollout_queue: dict[int, Waiting] = {}
        self.verify_queue: dict[int, Waiting] = {}
        total = sum(entry.share for entry in spec.entries) or 1.0
        self.share = {entry.name: entry.share / total for entry in spec.entries}
        self.planned = {entry.name: 0.0 for entry in spec.entries}
        self.target: dict[str, float] = {}
        self.accounts = {entry.name: Account() for entry in spec.entries}
        self.books_from = 0
        self.standings: deque[dict[str, tuple[float, int]]] = deque()
        self.starved: set[str] = set()
        self.tallies = {entry.name: Tally() for entry in spec.entries}
        self.audits = {
            entry.name: Audit(Subject(tuple(entry.ranges), entry.ranges), spec.audit) for entry in spec.entries
        }
        self.canaries: set[tuple[str, int]] = set()
        self.evaluations: dict[str, Evaluation] = {}
        self.open_evaluation: Evaluation | None = None
        self.batches: dict[int, TakenBatch] = {}
        self.curriculum = Curriculum()
        self.counts = Counts(dropped={})
        self.anomalies: dict[str, int] = {}
        self.next_episode = 0
        self.next_group = 0
        self.next_lease = 1
        self.demos_used: dict[str, int] = {}
        self.admitted: dict[str, int] = {}
        self.tier_inflight: dict[str, int] = {}
        self.lag_sum = 0.0
        self.lag_n = 0
        self.lag_max = 0
        self.wasted_tokens = 0
        self.trained_tokens = 0
        self.wait_s = 0.0
        self.first_batch_s = 0.0
        self.last_commit_s = 0.0
        self.should_prefetch = False
        self.is_draining = False
        self.running: dict[str, dict[str, int]] = {"rollout": {}, "verify": {}}
        self.dirty: dict[int, Episode] = {}
        self.dirty_groups: dict[int, Group] = {}

    def feed(self, entry: str, split: Split) -> Feed:
        """Return the feed of an entry and split, made on first use."""
        key = (entry, split)
        feed = self.feeds.get(key)
        if feed is None:
            feed = self.feeds[key] = Feed(self.entries[entry], split)
        return feed

    def stamp(self) -> float:
        """Return the time of a verdict: later than that of the last one, so that a ledger keeps their order."""
        self.verified_s = max(self.now_s, nextafter(self.verified_s, inf))
        return self.verified_s

    def count(self, anomaly: str) -> None:
        """Count something that is harmless by design and telling in numbers, such as a duplicate."""
        self.anomalies[anomaly] = self.anomalies.get(anomaly, 0) + 1
