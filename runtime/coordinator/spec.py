"""What a run is, as the coordinator needs to know it: entries, phases, limits and policies.

The launcher's side builds it from the compiled plan. Policies are objects and plain functions: pure, clock-free.
"""

from collections.abc import Callable, Sequence

import msgspec

from assay.core.error import ConfigError
from assay.core.scheduler import Sampler, Scheduler
from assay.core.stage_rule import Condition, StageRule
from assay.core.wire import Split, StageKind, Weights
from assay.runtime.audit.finding import Range
from assay.runtime.audit.threshold import Thresholds
from assay.runtime.coordinator.policy import has_spread
from assay.runtime.scheduler.fifo import Fifo

UNITS = ("episodes", "trained_tokens", "compute_s")
"""What a share can be a share of; see `share`."""

Admit = Callable[[Sequence[float]], bool]


class LevelSpec(msgspec.Struct, frozen=True):
    """One level of difficulty: a name for people, such as `digits=4`, and its training rows."""

    name: str
    size: int


class EntrySpec(msgspec.Struct, frozen=True):
    """One entry of the mix.

    Attributes:
        name: How everything about it is addressed.
        share: Target share; shares are weights.
        group_size: Siblings of a training group.
        min_scored: A group with fewer scored siblings is dropped.
        sizes: Rows per split.
        sources: Digest of the source per split, for `TaskRef.source`.
        tier: Cost tier of its verification.
        rollout_s: Expected seconds of one rollout.
        verify_s: Expected seconds of one verification.
        max_rollout_s: An episode gives up after so long.
        max_verify_s: A verification is killed after so long.
        needs: Resources one verification takes beside a slot.
        sampler: Picks training tasks; None walks through all in seeded order.
        unlock: Not played before this holds; None from the start.
        levels: From easy to hard; their sizes sum to that of `train`. Empty: every row is open from the start.
        ranges: Proved ends of each term of the reward, `section.name` in the order of the sum.
    """

    name: str
    share: float
    group_size: int
    min_scored: int
    sizes: dict[Split, int]
    sources: dict[Split, str]
    tier: str = "auto"
    rollout_s: float = 1.0
    verify_s: float = 0.1
    max_rollout_s: float = 300.0
    max_verify_s: float = 60.0
    needs: dict[str, float] = {}
    sampler: Sampler | None = None
    unlock: Condition | None = None
    levels: tuple[LevelSpec, ...] = ()
    ranges: dict[str, Range] = {}


class StageSpec(msgspec.Struct, frozen=True):
    """One stage of the curriculum.

    Attributes:
        name: Of the stage.
        kind: `sft` trains demonstrations, `rl` groups.
        batch: Groups (or demonstrations) of one step.
        steps: Its length; 0 where only `until` ends it.
        until: Asked after every commit; None where only `steps` ends it.
        share: Replaces the shares of the entries; empty keeps them.
        per_entry: Groups of one step per entry, summing to `batch`; empty lets the shares decide on average.
        max_staleness: Most updates between the weights that sampled a first token and those it trains.
        publish_every: Steps between published versions; 0 publishes at the end of the stage alone.
        checkpoint_every: Steps between checkpoints; 0 saves at the end of the stage alone.
        should_reset_optimizer: Forget moments when the stage begins.
    """

    name: str
    kind: StageKind
    batch: int
    steps: int = 0
    until: StageRule | None = None
    share: dict[str, float] = {}
    per_entry: dict[str, int] = {}
    max_staleness: int = 1
    publish_every: int = 1
    checkpoint_every: int = 0
    should_reset_optimizer: bool = False


class EvaluationSpec(msgspec.Struct, frozen=True):
    """Play the first `sizes[entry]` tasks of each entry's eval split, `samples` times each, all under one version.

    Beside them the first `canaries[entry]` rows that no honest policy can solve; they count in no accuracy.

    It begins when the newest version is published, and what follows waits for its end; an `sft` stage alone may run
    beside it, because that needs no rollouts, and its versions are then held back.
    """

    name: str
    sizes: dict[str, int]
    samples: int = 1
    canaries: dict[str, int] = {}


class TierSpec(msgspec.Struct, frozen=True):
    """Limits of one cost tier: episodes between planned and verified, and a staleness bound of its own."""

    inflight: int | None = None
    max_staleness: int | None = None


class RunSpec(msgspec.Struct, frozen=True):
    """Everything the core decides by.

    Attributes:
        plan_digest: Workers of another plan are refused.
        seed: Of every random choice.
        entries: The mix.
        phases: Stages and evaluations, in order.
        tiers: By name; an absent tier has no limits.
        start: Weights that exist before the run, where no trainer takes part.
        heartbeat_s: How often workers report.
        lease_heartbeats: Heartbeats a lease lasts without renewal.
        max_retries: Budget of one episode, for failures and lost leases together.
        max_deaths: Processes a task may kill before it is quarantined.
        prefetch: Most tasks asked for ahead of need, per entry.
        task_chunk: Tasks in one `LeaseTasks`.
        watchdog_s: An edge with work and no progress for so long ends the run.
        drain_s: How long a drain waits for work in progress.
        window: Groups in the means that rules see.
        balance: What a share is a share of.
        admit: Whether a group's rewards are worth training.
        rollout_scheduler: Which waiting episode goes to which rollout worker.
        verify_scheduler: The same for verification.
        should_shuffle_rewards: The control that must teach nothing: permute rewards inside each group.
        owners: Distribution and version of what plugins bring, for an error that names the culprit; by `scheduler` and
            `sampler.<entry>`.
        audit: When the reward audit raises a finding.
    """

    plan_digest: str
    seed: int
    entries: tuple[EntrySpec, ...]
    phases: tuple[StageSpec | EvaluationSpec, ...]
    tiers: dict[str, TierSpec] = {}
    start: Weights | None = None
    heartbeat_s: float = 1.0
    lease_heartbeats: float = 3.0
    max_retries: int = 8
    max_deaths: int = 2
    prefetch: int = 32
    task_chunk: int = 16
    watchdog_s: float = 300.0
    drain_s: float = 15.0
    window: int = 32
    balance: str = "episodes"
    admit: Admit = has_spread
    rollout_scheduler: Scheduler = Fifo()
    verify_scheduler: Scheduler = Fifo()
    should_shuffle_rewards: bool = False
    owners: dict[str, str] = {}
    audit: Thresholds = Thresholds()

    @property
    def lease_s(self) -> float:
        """Seconds a lease lasts without renewal."""
        return self.heartbeat_s * self.lease_heartbeats

    def owner(self, what: str, policy: object) -> str:
        """Return whose a policy is; its module where that is not known."""
        return self.owners.get(what, type(policy).__module__)

    def check(self) -> "RunSpec":
        """Return itself.

        Raises:
            ConfigError: the run could never end, never start or never keep its staleness bound.
        """
        names = {entry.name for entry in self.entries}
        if len(names) != len(self.entries) or sum(entry.share for entry in self.entries) <= 0:
            raise ConfigError("a mix must have entries of different names and a share above 0", got=sorted(names))
        if self.balance not in UNITS:
            raise ConfigError(f"balance must be one of {', '.join(UNITS)}", got=self.balance, at="balance")
        for entry in self.entries:
            if entry.levels and sum(level.size for level in entry.levels) != entry.sizes.get("train", 0):
                raise ConfigError("levels must cover the training rows", got=entry.levels, at=entry.name)
        for phase in self.phases:
            if isinstance(phase, EvaluationSpec):
                self._check_evaluation(phase)
            else:
                self._check_stage(phase, names)
        if self.start is not None and any(isinstance(phase, StageSpec) for phase in self.phases):
            raise ConfigError("a run with given weights must have no stages", got=self.start.folder)
        return self

    def _check_evaluation(self, phase: EvaluationSpec) -> None:
        if phase.samples < 1:
            raise ConfigError("an evaluation must play each task at least once", got=phase.samples, at=phase.name)
        splits: tuple[tuple[Split, dict[str, int]], ...] = (("eval", phase.sizes), ("canary", phase.canaries))
        for split, sizes in splits:
            for entry in self.entries:
                if sizes.get(entry.name, 0) > entry.sizes.get(split, 0):
                    raise ConfigError(
                        "an evaluation must not ask for more tasks than there are",
                        got=f"{sizes[entry.name]} of {entry.sizes.get(split, 0)}",
                        at=f"{phase.name}.{entry.name}",
                    )

    def _check_stage(self, stage: StageSpec, names: set[str]) -> None:
        if stage.batch < 1 or (stage.steps < 1 and stage.until is None):
            raise ConfigError("a stage must have a batch and an end", got=f"batch {stage.batch}", at=stage.name)
        if unknown := (set(stage.share) | set(stage.per_entry)) - names:
            raise ConfigError("a stage must name entries of the mix", got=sorted(unknown), at=stage.name)
        if stage.per_entry and sum(stage.per_entry.values()) != stage.batch:
            raise ConfigError("groups per entry must sum to the batch", got=stage.per_entry, at=stage.name)
        if stage.kind == "rl" and not 1 <= stage.publish_every <= stage.max_staleness + 1:
            raise ConfigError(
                "an rl stage must publish at least every max_staleness + 1 steps, or its credits run out",
                got=stage.publish_every,
                at=stage.name,
            )
