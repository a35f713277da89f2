"""Curricula: from a checked tree to the mix, its stages, rules and budgets, with CU001, CT001 and DT001.

Rules are expressions over `step` and the recent means of entries; what they do over time is the runtime's business.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from assay.core.error import PluginError
from assay.core.kind import Kind
from assay.core.name import suggestion
from assay.core.registry import Registry
from assay.core.signal import SignalSpec
from assay.dsl.budget import read_budgets
from assay.dsl.compile import Compiled
from assay.dsl.condition import read_condition, read_until
from assay.dsl.edition import CURRICULUM, EDITION
from assay.dsl.expr.fault import Fault, place
from assay.dsl.expr.interval import Interval
from assay.dsl.expr.narrow import Known, narrow
from assay.dsl.expr.node import Expr
from assay.dsl.expr.scope import Scope
from assay.dsl.index import DomainIndex, Found, read_domain_file
from assay.dsl.leaf import bind_call, make_refusal
from assay.dsl.level import read_levels
from assay.dsl.lint.budget import check_budgets
from assay.dsl.lint.reach import closed_entries
from assay.dsl.mix import Curriculum, MixEntry, Stage
from assay.dsl.program import Program, Use
from assay.dsl.schema import check_shape, read_number
from assay.dsl.source.diagnostic import Finding, finding, sort_findings
from assay.dsl.source.mark import Mapping, Node, Scalar, Span

# What rules see beside the entries.
RULE_NAMES = ("step", "reward", "success")

Edit = Callable[[str, Found], tuple[Found, list[Finding]]]


class CompiledCurriculum(msgspec.Struct, frozen=True):
    """A curriculum and its domains compiled.

    Attributes:
        findings: Of the curriculum and of every domain in it.
        curriculum: None where a finding is an error.
        domains: By entry; also those with errors.
    """

    findings: tuple[Finding, ...]
    curriculum: Curriculum | None
    domains: dict[str, Compiled]

    @property
    def programs(self) -> dict[str, Program]:
        """Programs by entry."""
        return {name: domain.require() for name, domain in self.domains.items()}


def compile_curriculum(
    tree: Mapping,
    registry: Registry,
    base: Path,
    *,
    edit: Edit | None = None,
    batch: int | None = None,
    findings: tuple[Finding, ...] = (),
    lost: frozenset[str] = frozenset(),
) -> CompiledCurriculum:
    """Compile a curriculum with the domains it mixes.

    Args:
        tree: Of the file, overrides applied.
        registry: What is installed.
        base: Folder that relative paths of domain files start from.
        edit: Applies overrides to the domain of an entry.
        batch: Groups of one step where a stage states none.
        findings: What reading the tree has found already.
        lost: Keys of blocks that could not be read; there are findings then.
    """
    compiler = _Compiler(tree, registry, base, edit, batch, lost)
    # Without a mix nothing that names its entries means anything.
    curriculum, domains = (None, {}) if "mix" in compiler.faulty and lost else compiler.run()
    found = sort_findings([*findings, *compiler.findings])
    is_good = not any(item.severity == "error" for item in found)
    return CompiledCurriculum(tuple(found), curriculum if is_good else None, domains)


class _Compiler:
    def __init__(
        self,
        tree: Mapping,
        registry: Registry,
        base: Path,
        edit: Edit | None,
        batch: int | None,
        lost: frozenset[str],
    ) -> None:
        checked = check_shape(tree, CURRICULUM, lost=lost)
        self.tree, self.faulty = checked.tree, checked.faulty
        self.findings = list(checked.findings)
        self.registry, self.base, self.edit, self.batch = registry, base, edit, batch
        self.index = DomainIndex(registry)
        self.domains: dict[str, Compiled] = {}
        self.entries: dict[str, Mapping] = {}

    def run(self) -> tuple[Curriculum, dict[str, Compiled]]:
        node = self.tree.get("assay")
        if isinstance(node, Scalar) and node.text.strip() != str(EDITION):
            self.say(
                "YM005", node.span, f"unknown language edition, got {node.text.strip()}", f"write `assay: {EDITION}`"
            )
        mix = self.tree.get("mix")
        if isinstance(mix, Mapping) and not mix.entries and not any(path.startswith("mix.") for path in self.faulty):
            self.say("YM003", mix.span, "`mix` must hold at least one entry")
        for entry in mix if isinstance(mix, Mapping) else ():
            name = entry.key.text
            if name in RULE_NAMES:
                self.say("YM001", entry.key.span, f"`{name}` is already what rules call something else")
            if isinstance(entry.value, Mapping):
                self.entries[name] = entry.value
                self.domain(name, entry.value)
        scope = Scope({"step": Kind("int", 0.0)}, {}, self.signals(), {}, None, self.unknown_entries())
        group_fields = {"reward": Kind("list", item=Kind("float")), "success": Kind("list", item=Kind("bool"))}
        group_scope = msgspec.structs.replace(scope, fields={**scope.fields, **group_fields})
        shares = self.shares(
            self.entries, {n: e.get("share") for n, e in self.entries.items()}, _span(self.tree, "mix")
        )
        stages = self.stages(scope, shares)
        sampler = self.sampler(self.tree.get("sampler"), "sampler")
        budgets, unread = read_budgets(self.tree.get("require"))
        self.findings += unread
        curriculum = Curriculum(
            edition=EDITION,
            name=_text(self.tree, "curriculum"),
            mix={name: self.entry(name, entry, shares, scope) for name, entry in self.entries.items()},
            balance=cast(Any, _text(self.tree, "balance") or "episodes"),
            sampler=sampler,
            levels=self.levels(),
            admit=self.rule(self.tree.get("admit"), group_scope, "admit", never="no group would ever be trained"),
            advantage=cast(Any, _text(self.tree, "advantage") or "per_group"),
            stages=stages,
            require=budgets,
            summary=_text(self.tree, "summary"),
        )
        self.reach(curriculum)
        self.findings += check_budgets(
            [b for b in budgets if not any(path.startswith(f"require.{b.name}.") for path in self.faulty)],
            {name: (shares.get(name, 0.0), domain) for name, domain in self.domains.items()},
            {budget.name: _span(self.tree.get("require"), budget.name) for budget in budgets},
        )
        return curriculum, self.domains

    def domain(self, name: str, entry: Mapping) -> None:
        node = entry.get("domain")
        if not isinstance(node, Scalar):
            return
        try:
            found = self.find(node.text.strip())
        except PluginError as error:
            message = error.must if error.got is None else f"{error.must}, got {error.got}"
            self.say("CU001", node.span, message, error.todo or "")
            return
        except OSError as error:
            self.say("CU001", node.span, f"a domain file must be readable: {error.strerror or error}")
            return
        if self.edit is not None:
            found, findings = self.edit(name, found)
            self.findings += findings
        compiled = found.compile(self.registry)
        self.domains[name] = compiled
        self.findings += compiled.findings

    def find(self, name: str) -> Found:
        if name.endswith((".yaml", ".yml")):
            path = self.base / name
            return read_domain_file(path, str(path))
        return self.index.find(name)

    def signals(self) -> dict[str, dict[str, SignalSpec]]:
        """Return what rules may ask of an entry: pass rate, reward and the mean of each term."""
        signals = {}
        for name, domain in self.domains.items():
            if domain.program is None or domain.facts is None:
                continue
            reward = domain.facts.reward
            specs = {
                "pass_rate": SignalSpec("pass_rate", Kind("float", 0.0, 1.0), None, "up"),
                "reward": SignalSpec("reward", Kind("float", reward.lo, reward.hi), None, "up"),
            }
            for _, terms in domain.program.reward.sections():
                for term in terms:
                    specs.setdefault(term.name, SignalSpec(term.name, Kind("float")))
            signals[name] = specs
        return signals

    def unknown_entries(self) -> frozenset[str]:
        known = {name for name, domain in self.domains.items() if domain.program is not None}
        return frozenset(set(self.entries) - known)

    def reach(self, curriculum: Curriculum) -> None:
        """Report unlocks that wait for what will never be measured."""
        if self.faulty or any(found.code == "CU001" for found in self.findings):
            return
        played = {name for stage in curriculum.stages if stage.kind == "rl" for name, s in stage.share.items() if s > 0}
        unlocks = {name: entry.unlock for name, entry in curriculum.mix.items()}
        for name, other in closed_entries(unlocks, played).items():
            what = "itself" if name == other else f"`{other}`, which is never played before it"
            span = cast(Node, self.entries[name].get("unlock")).span
            self.say("CU001", span, f"`{name}` can never be unlocked: it waits for {what}")

    def entry(self, name: str, entry: Mapping, shares: dict[str, float], scope: Scope) -> MixEntry:
        unlock = self.rule(entry.get("unlock"), scope, f"mix.{name}.unlock", never="the entry would never be played")
        sampler = self.sampler(entry.get("sampler"), f"mix.{name}.sampler")
        return MixEntry(_text(entry, "domain"), shares.get(name, 0.0), unlock, sampler)

    def shares(self, names: Any, nodes: dict[str, Node | None], span: Span) -> dict[str, float]:
        """Return normalised shares; an entry without one has weight 1."""
        before = len(self.findings)
        weights: dict[str, float] = {}
        for name, node in nodes.items():
            weight = float(read_number(node.text)) if isinstance(node, Scalar) else 1.0
            if weight < 0 and node is not None:
                self.say("CU001", node.span, f"a share must be at least 0, got {weight:g}")
            weights[name] = max(weight, 0.0)
        largest = max(weights.values(), default=0.0)
        if largest == 0:
            if names and len(self.findings) == before:
                self.say("CU001", span, "shares must not all be 0", "give at least one entry a share")
            return dict.fromkeys(weights, 0.0)
        # By the largest first: a sum of shares near the end of float64 would be infinite.
        total = math.fsum(weight / largest for weight in weights.values())
        return {name: weight / largest / total for name, weight in weights.items()}

    def stages(self, scope: Scope, mix: dict[str, float]) -> tuple[Stage, ...]:
        node = self.tree.get("stages")
        if not isinstance(node, Mapping):
            return (Stage("all", "rl", None, mix),)
        stages: list[Stage] = []
        start = 0.0
        for item in node:
            if not isinstance(item.value, Mapping):
                continue
            name, body = item.key.text, item.value
            if stages and stages[-1].until is None and f"stages.{stages[-1].name}.until" not in self.faulty:
                self.say("CU001", item.key.span, f"stage `{name}` can never begin: `{stages[-1].name}` lasts forever")
            stages.append(self.stage(name, body, scope, mix, start))
            start = _step_after(stages[-1].until, scope, start)
            self.group_per_batch(item.key.span, stages[-1])
        if not stages:
            self.say("CU001", node.span, "a curriculum with `stages` must have at least one")
        return tuple(stages)

    def stage(self, name: str, body: Mapping, scope: Scope, mix: dict[str, float], start: float) -> Stage:
        """Read one stage; `start` is the first step at which it can begin."""
        at = f"stages.{name}"
        share = body.get("share")
        shares = mix
        if isinstance(share, Mapping):
            for entry in share:
                if entry.key.text not in self.entries:
                    hint = suggestion(entry.key.text, self.entries)
                    self.say("CU001", entry.key.span, f"unknown entry `{entry.key.text}`", hint)
            is_whole = not any(path.startswith(f"{at}.share.") for path in self.faulty)
            shares = self.shares(is_whole, {e.key.text: e.value for e in share}, share.span)
        kind: Literal["rl", "sft"] = "sft" if _text(body, "kind") == "sft" else "rl"
        until = body.get("until")
        rule = None
        if isinstance(until, Scalar) and until.text.strip() != "forever":
            played = shares if kind == "rl" else {}
            rule, findings = read_until(until, scope, self.registry, f"{at}.until", start, played)
            self.findings += findings
        decay = _number(body, "decay", 0.0)
        if decay > 1:
            self.say("YM003", cast(Node, body.get("decay")).span, f"`decay` must lie in [0, 1], got {decay:g}")
        if kind == "sft":
            self.demonstrations(body, shares)
        return Stage(
            name=name,
            kind=kind,
            until=rule,
            share=shares,
            batch=int(_number(body, "batch", 0)) or None,
            lr=_number(body, "lr", 0.0) or None,
            warmup=int(_number(body, "warmup", 0)),
            decay=decay,
            reset_optimizer=_text(body, "reset_optimizer") != "false",
        )

    def demonstrations(self, body: Mapping, shares: dict[str, float]) -> None:
        for name, domain in self.domains.items():
            if shares.get(name) and domain.program is not None and "demos" not in domain.program.data:
                span = cast(Node, body.get("kind")).span
                message = f"an sft stage needs `data.demos` of every domain in it, `{name}` has none"
                self.say("CU001", span, message, f"leave `{name}` out with `share`")

    def group_per_batch(self, span: Span, stage: Stage) -> None:
        batch = stage.batch or self.batch
        if batch is None:
            return
        below = [name for name, share in stage.share.items() if 0 < share * batch < 1 - 1e-9]
        if below:
            least = math.ceil(1 / min(stage.share[name] for name in below) - 1e-9)
            what = "group" if stage.kind == "rl" else "demonstration"
            message = f"a domain must get at least one {what} per batch of {batch}, got less for {', '.join(below[:3])}"
            self.say("CU001", span, message, f"raise `batch` to {least} or the shares")

    def sampler(self, node: Node | None, at: str) -> Use | None:
        if not isinstance(node, Scalar):
            return None
        bound, findings, _ = bind_call(node, "sampler", self.registry, Scope(), at, fields=False)
        self.findings += findings
        if bound is not None and (refusal := make_refusal(bound)):
            self.findings.append(place(Fault("CU001", bound.call, refusal), node, at))
        return None if bound is None else bound.use

    def rule(self, node: Node | None, scope: Scope, at: str, *, never: str) -> Expr | None:
        if not isinstance(node, Scalar):
            return None
        rule, findings = read_condition(node, scope, self.registry, at, never)
        self.findings += findings
        return rule

    def levels(self) -> dict[str, dict[str, Any]]:
        node = self.tree.get("levels")
        levels: dict[str, dict[str, Any]] = {}
        for entry in node if isinstance(node, Mapping) else ():
            name = entry.key.text
            if name not in self.entries:
                self.say("CU001", entry.key.span, f"unknown entry `{name}`", suggestion(name, self.entries))
            elif isinstance(entry.value, Mapping) and f"levels.{name}" not in self.faulty:
                domain = self.domains.get(name)
                program = None if domain is None else domain.program
                data = None if program is None else program.data.get("train")
                params = {} if program is None else program.params
                levels[name], found = read_levels(entry.value, data, params, self.registry)
                self.findings += found
        return levels

    def say(self, code: str, span: Span, message: str, hint: str = "") -> None:
        self.findings.append(finding(code, span, message, hint))


def _step_after(until: Expr | None, scope: Scope, start: float) -> float:
    """Return the first step at which the next stage can begin; every stage takes at least one."""
    known: Known | None = {"step": Interval(start, math.inf, is_int=True)}
    known = known if until is None else narrow(until, cast(Known, known), scope, holds=True)
    return start + 1 if known is None else max(start + 1, known["step"].lo)


def _span(node: Node | None, key: str) -> Span:
    entry = node.entry(key) if isinstance(node, Mapping) else None
    if entry is not None:
        return entry.key.span
    return node.span if node is not None else Span("<curriculum>", 1, 1, 2)


def _text(node: Mapping, key: str) -> str:
    return _scalar(node.get(key))


def _scalar(node: Node | None) -> str:
    return node.text.strip() if isinstance(node, Scalar) else ""


def _number(node: Mapping, key: str, default: float) -> float:
    text = _text(node, key)
    return float(read_number(text)) if text else default
