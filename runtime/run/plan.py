"""The plan of a run as its processes read it: one file, plain values, no plugin code.

Every process gets the run folder and its own name; everything else it needs stands here. The digest leaves out what
does not change what is computed (folders, process counts), so that a resumed run is the same plan.
"""

from pathlib import Path
from typing import Any

import msgspec

from assay.core.digest import digest
from assay.core.error import ConfigError
from assay.core.registry import resolve
from assay.core.wire import Split, StageKind
from assay.dsl.expr.node import Expr
from assay.dsl.program import Program
from assay.runtime.verify.message import Mode

FILE = "run.json"


class LevelPlan(msgspec.Struct, frozen=True):
    """One level of difficulty: arguments of the source beside those of its call, and its rows."""

    arguments: dict[str, Any]
    size: int

    @property
    def name(self) -> str:
        """Such as `digits=4 terms=2`."""
        return " ".join(f"{name}={value}" for name, value in self.arguments.items())


class SplitPlan(msgspec.Struct, frozen=True):
    """Rows of one split.

    Attributes:
        size: How many there are.
        digest: Of the source and its arguments, or of the rows written out; `TaskRef.source`.
        ref: `dist:version:module:attribute` of the source; empty where rows are written out.
        base: Folder that relative paths count from.
        levels: Of training rows, from easy to hard; empty where there are none.
    """

    size: int
    digest: str
    ref: str = ""
    base: str = ""
    levels: tuple[LevelPlan, ...] = ()


class FactoryPlan(msgspec.Struct, frozen=True):
    """A factory as a process finds it, and what it is called with."""

    ref: str
    arguments: dict[str, Any] = {}

    def make(self) -> Any:
        """Return what the factory makes.

        Raises:
            PluginError: the factory cannot be loaded here.
        """
        return resolve(self.ref)(**self.arguments)


class EntryPlan(msgspec.Struct, frozen=True):
    """One entry of the mix.

    Attributes:
        name: Of the entry.
        share: Target share; shares are weights.
        program: Its compiled domain.
        splits: By split; `demos` only where the domain has them.
        leaves: `dist:version:module:attribute` of every verifier and parser the program names.
        functions: The same of every plugin function that its reward calls.
        modes: How a verifier's calls are run, by registered name; `worker` where absent.
        tier: Highest cost tier of its verifiers.
        verify_s: Expected seconds of one verification.
        max_verify_s: Sum of its verifiers' time limits.
        unlock: Not played before this holds; None from the start.
        sampler: Picks training tasks; None walks through all in seeded order.
        base: Folder that relative paths of its domain start from.
        judged: Names of verifiers that ask a judge.
        price_usd: What judges are declared to charge for one episode; None where one states no price.
        needs: What a sandbox backend must be able to do for its verifiers; empty where none wants a box.
    """

    name: str
    share: float
    program: Program
    splits: dict[Split, SplitPlan]
    leaves: dict[str, str] = {}
    functions: dict[str, str] = {}
    modes: dict[str, Mode] = {}
    tier: str = "auto"
    verify_s: float = 0.01
    max_verify_s: float = 60.0
    unlock: Expr | None = None
    sampler: FactoryPlan | None = None
    base: str = ""
    judged: tuple[str, ...] = ()
    price_usd: float | None = None
    needs: tuple[str, ...] = ()
    ranges: dict[str, tuple[float | None, float | None]] = {}


class StagePlan(msgspec.Struct, frozen=True):
    """One stage of the curriculum; `docs/decisions/0003-stages.md` says what each key means.

    `steps` is 0 where only `until` ends the stage, or nothing does. `rules` says how a process finds the stage rules
    that `until` calls: name -> `dist:version:module:attribute`.
    """

    name: str
    kind: StageKind
    steps: int
    batch: int
    lr: float
    warmup: int = 0
    decay: float = 0.0
    share: dict[str, float] = {}
    until: Expr | None = None
    should_reset_optimizer: bool = True
    rules: dict[str, str] = {}


class Counts(msgspec.Struct, frozen=True):
    """Processes per role, and threads of each."""

    source: int = 1
    rollout: int = 1
    verify: int = 1
    update: int = 1
    threads: int = 1


class RunPlan(msgspec.Struct, frozen=True):
    """Everything that processes of a run read.

    Attributes:
        name: Of the run.
        seed: Of everything random.
        entries: The mix.
        stages: In order; empty where weights are only evaluated.
        policy: Folder of weights and tokenizer at the start.
        settings: Composed configuration by group, as `conf/` names the keys.
        factories: `dist:version:module:attribute` of engine, trainer, algorithm, scheduler, store, launcher and chat
            format, by kind.
        counts: Processes.
        balance: What a share is a share of.
        admit: Groups for which it is false are refilled; None admits all.
        trackers: What is told of the run, by name.
    """

    name: str
    seed: int
    entries: tuple[EntryPlan, ...]
    stages: tuple[StagePlan, ...]
    policy: str
    settings: dict[str, dict[str, Any]]
    factories: dict[str, str]
    counts: Counts = Counts()
    balance: str = "episodes"
    admit: Expr | None = None
    trackers: dict[str, FactoryPlan] = {}

    @property
    def digest(self) -> str:
        """Content digest of what is computed."""
        groups = ("engine", "trainer", "algorithm", "eval", "scheduler")
        entries = [(e.name, e.share, e.program.digest, e.splits, e.unlock, e.sampler) for e in self.entries]
        settings = {name: self.settings.get(name, {}) for name in groups}
        if "judge" in self.factories:
            # How long it is waited for changes nothing that is computed; who answers does.
            settings["judge"] = {name: self.settings["judge"][name] for name in ("name", "options")}
        return digest([self.seed, entries, self.stages, settings, self.balance, self.admit])

    def entry(self, name: str) -> EntryPlan:
        """Return the entry of a name."""
        return next(entry for entry in self.entries if entry.name == name)

    def stage(self, name: str) -> StagePlan:
        """Return the stage of a name."""
        return next(stage for stage in self.stages if stage.name == name)

    def stage_begins(self, name: str) -> int:
        """Return the step before the first of a stage; those before it have known lengths."""
        names = [stage.name for stage in self.stages]
        return sum(stage.steps for stage in self.stages[: names.index(name)])


def write_plan(folder: Path, plan: RunPlan) -> Path:
    """Write the plan into its run folder."""
    path = folder / FILE
    path.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=1))
    return path


def read_plan(folder: Path) -> RunPlan:
    """Read the plan of a run.

    Raises:
        ConfigError: the folder is no run's.
    """
    path = folder / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=RunPlan)
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError("a run folder must hold its plan", got=error, at=path) from None
