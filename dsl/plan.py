"""The plan: a compiled curriculum as a dataflow graph of stages and edges, with capacities and proved facts.

It says what would run before anything does. Workers get their part of it, resolved, from the launcher.
"""

import math
from typing import Any

import msgspec

from assay.core.digest import digest
from assay.core.error import SourceError
from assay.dsl.curriculum import CompiledCurriculum
from assay.dsl.expr.show import show
from assay.dsl.mix import Curriculum
from assay.dsl.program import Program, Use
from assay.dsl.source.diagnostic import Finding

# A rollout that nothing has measured yet.
GUESSED_ROLLOUT_S = 1.0


class Resources(msgspec.Struct, frozen=True):
    """What the launcher would start.

    Attributes:
        sources: Processes that make tasks.
        rollouts: Processes with an engine.
        verifiers: Processes that verify, one verification at a time each.
        trainers: Trainer ranks.
        slots: Episodes that one rollout process plays at once.
        questions: Questions to a judge that one verify process has out at once.
        batch: Groups of one step where a stage states none.
        max_staleness: Updates between the weights that sampled and those that are trained.
    """

    sources: int = 1
    rollouts: int = 1
    verifiers: int = 1
    trainers: int = 1
    slots: int = 64
    questions: int = 1
    batch: int = 32
    max_staleness: int = 1


class StageNode(msgspec.Struct, frozen=True):
    """One stage of the graph.

    Attributes:
        name: Such as `verify.auto`.
        role: What its processes are.
        workers: How many.
        capacity: Items in work at once, over all workers.
        batch: Items taken together.
        entries: Mix entries that pass through it.
        cost_s: Expected seconds of one item, weighted by share.
        needs: Capabilities of a sandbox.
        cache_key: Digest of everything its results depend on: equal key, equal result.
    """

    name: str
    role: str
    workers: int
    capacity: int
    batch: int
    entries: tuple[str, ...]
    cost_s: float
    needs: tuple[str, ...]
    cache_key: str


class Edge(msgspec.Struct, frozen=True):
    """One queue: from, to, what travels, and how many may be on the way."""

    source: str
    target: str
    carries: str
    limit: int


class PlanEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One mix entry: share, group, what is proved of its domain, its levels and its own sampler where it has any."""

    name: str
    identity: str
    digest: str
    share: float
    group_size: int
    min_scored: int
    reward: tuple[float | None, float | None]
    margin: float
    tier: str
    deterministic: bool
    cost_s: float
    unlock: str
    levels: dict[str, list[Any]] = {}
    sampler: str = ""


class PlanStage(msgspec.Struct, frozen=True):
    """One curriculum stage: what it trains with and until when."""

    name: str
    kind: str
    until: str
    batch: int
    share: dict[str, float]


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """The whole graph; see the module. `admit` is empty where every group is admitted."""

    name: str
    curriculum_digest: str
    balance: str
    entries: tuple[PlanEntry, ...]
    stages: tuple[PlanStage, ...]
    nodes: tuple[StageNode, ...]
    edges: tuple[Edge, ...]
    verify_s_per_step: float
    deterministic_share: float
    admit: str = ""
    advantage: str = "per_group"
    sampler: str = ""

    @property
    def digest(self) -> str:
        """Content digest of the plan."""
        return digest(self)


def build_plan(compiled: CompiledCurriculum, resources: Resources, *, has_sandbox: bool = False) -> Plan:
    """Build the plan of a curriculum.

    Args:
        compiled: With the domains of its mix.
        resources: What the run has.
        has_sandbox: A backend is named; what it can do is looked at where the run is made.

    Raises:
        SourceError: the curriculum or a domain has an error; or a domain needs a sandbox that no installed backend
            declares, and none is named (SB001 is a warning in `check` and an error here).
    """
    codes = set() if has_sandbox else {"SB001"}
    blocking = [_as_error(item) for item in compiled.findings if item.severity == "error" or item.code in codes]
    if compiled.curriculum is None or blocking:
        raise SourceError("a plan needs a curriculum without errors", findings=tuple(blocking or compiled.findings))
    return _Builder(compiled, compiled.curriculum, resources).plan()


def _as_error(item: Finding) -> Finding:
    return msgspec.structs.replace(item, severity="error")


class _Builder:
    def __init__(self, compiled: CompiledCurriculum, curriculum: Curriculum, resources: Resources) -> None:
        self.curriculum = curriculum
        self.resources = resources
        self.programs = compiled.programs
        self.facts = {name: domain.facts for name, domain in compiled.domains.items() if domain.facts is not None}
        self.batch = max((stage.batch or resources.batch for stage in curriculum.stages), default=resources.batch)

    def plan(self) -> Plan:
        mix = self.curriculum.mix
        weights = {name: entry.share for name, entry in mix.items()}
        group = math.fsum(weights[name] * program.group.size for name, program in self.programs.items())
        verify = math.fsum(weights[name] * self.programs[name].group.size * f.cost_s for name, f in self.facts.items())
        rl_batch = max((s.batch or self.resources.batch for s in self.curriculum.stages if s.kind == "rl"), default=0)
        nodes = self.nodes(rl_batch)
        return Plan(
            name=self.curriculum.name,
            curriculum_digest=self.curriculum.digest,
            balance=self.curriculum.balance,
            entries=tuple(self.entry(name) for name in mix),
            stages=tuple(self.stage(index) for index in range(len(self.curriculum.stages))),
            nodes=nodes,
            edges=self.edges(nodes, rl_batch, group),
            verify_s_per_step=verify * rl_batch,
            deterministic_share=math.fsum(weights[n] for n, facts in self.facts.items() if facts.deterministic),
            admit="" if self.curriculum.admit is None else show(self.curriculum.admit),
            advantage=self.curriculum.advantage,
            sampler=_call(self.curriculum.sampler),
        )

    def entry(self, name: str) -> PlanEntry:
        program, facts, entry = self.programs[name], self.facts[name], self.curriculum.mix[name]
        lo, hi = facts.to_json()["reward"]
        return PlanEntry(
            name=name,
            identity=program.identity,
            digest=program.digest,
            share=entry.share,
            group_size=program.group.size,
            min_scored=program.group.min_scored,
            reward=(lo, hi),
            margin=facts.margin,
            tier=facts.tier,
            deterministic=facts.deterministic,
            cost_s=facts.cost_s,
            unlock="" if entry.unlock is None else show(entry.unlock),
            levels=self.curriculum.levels.get(name, {}),
            sampler=_call(entry.sampler),
        )

    def stage(self, index: int) -> PlanStage:
        stage = self.curriculum.stages[index]
        until = "forever" if stage.until is None else show(stage.until)
        return PlanStage(stage.name, stage.kind, until, stage.batch or self.resources.batch, stage.share)

    def nodes(self, rl_batch: int) -> tuple[StageNode, ...]:
        everything = tuple(self.curriculum.mix)
        slots = self.resources.rollouts * self.resources.slots
        nodes = [
            self.node("source", "source", self.resources.sources, self.resources.sources, 1, everything, 0.0, "data")
        ]
        if rl_batch:
            nodes.append(
                self.node(
                    "rollout",
                    "rollout",
                    self.resources.rollouts,
                    slots,
                    self.resources.slots,
                    everything,
                    GUESSED_ROLLOUT_S,
                    "rollout",
                )
            )
            for tier in ("auto", "judge", "human"):
                entries = tuple(name for name in everything if self.facts[name].tier == tier)
                if entries:
                    workers = self.resources.verifiers
                    at_once = workers * self.resources.questions if tier == "judge" else workers
                    cost = self.mean_cost(entries)
                    nodes.append(self.node(f"verify.{tier}", "verify", workers, at_once, 1, entries, cost, "verify"))
            nodes.append(self.node("group", "coordinator", 1, 1, 1, everything, 0.0, "reward"))
        nodes.append(
            self.node("update", "update", self.resources.trainers, 1, self.batch, everything, 0.0, "curriculum")
        )
        return tuple(nodes)

    def node(
        self,
        name: str,
        role: str,
        workers: int,
        capacity: int,
        batch: int,
        entries: tuple[str, ...],
        cost_s: float,
        depends_on: str,
    ) -> StageNode:
        needs = {word for entry in entries for word in self.facts[entry].needs} if role == "verify" else set()
        keys = [_cache_part(self.programs[entry], depends_on) for entry in entries]
        if depends_on == "curriculum":
            keys = [self.curriculum.digest, *keys]
        return StageNode(name, role, workers, capacity, batch, entries, cost_s, tuple(sorted(needs)), digest(keys))

    def mean_cost(self, entries: tuple[str, ...]) -> float:
        total = math.fsum(self.curriculum.mix[name].share for name in entries)
        if total == 0:
            return 0.0
        return math.fsum(self.curriculum.mix[name].share * self.facts[name].cost_s for name in entries) / total

    def edges(self, nodes: tuple[StageNode, ...], rl_batch: int, group: float) -> tuple[Edge, ...]:
        names = {node.name for node in nodes}
        # The one credit count: what may be between planned and trained at once.
        credit = math.ceil((self.resources.max_staleness + 1) * rl_batch * group)
        edges = []
        if any(stage.kind == "sft" for stage in self.curriculum.stages):
            edges.append(Edge("source", "update", "demonstrations", self.batch))
        if "rollout" in names:
            edges.append(Edge("source", "rollout", "tasks", credit))
            for node in nodes:
                if node.role == "verify":
                    edges.append(Edge("rollout", node.name, "episodes", credit))
                    edges.append(Edge(node.name, "group", "verdicts", credit))
            edges.append(Edge("group", "update", "batches", self.resources.max_staleness + 1))
            edges.append(Edge("update", "rollout", "weight versions", 1))
        return tuple(edges)


def _call(use: Use | None) -> str:
    if use is None:
        return ""
    return f"{use.leaf}({', '.join(f'{part.name}={show(part.value)}' for part in use.arguments)})"


def _cache_part(program: Program, depends_on: str) -> str:
    parts = program.digests
    match depends_on:
        case "data":
            return digest([program.fields, program.data])
        case "rollout":
            return parts["rollout"]
        case "verify":
            return digest([parts["rollout"], *(value for name, value in parts.items() if name.startswith("verify."))])
    return program.digest
