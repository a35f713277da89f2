"""The compiler's door: from a text, a tree or a Python declaration to a program, proved facts and findings.

Nothing here starts a model, a sandbox or a worker, and nothing heavy is imported.
"""

import re
from pathlib import Path

import msgspec

from assay.core.declare import Domain
from assay.core.error import PluginError, SourceError
from assay.core.leaf import Function
from assay.core.registry import Offer, Registry
from assay.dsl.analysis import Analysis, analyse
from assay.dsl.declared import Declared
from assay.dsl.domain import read_domain
from assay.dsl.edition import DOMAIN
from assay.dsl.expr.function import BUILTIN, Entry, plugin_entry
from assay.dsl.expr.node import Call, Expr, strip, walk
from assay.dsl.facts import DomainFacts, domain_facts
from assay.dsl.lint.grading import lint_grading
from assay.dsl.lint.incentive import lint_incentive
from assay.dsl.lint.liveness import lint_liveness
from assay.dsl.lint.reward import lint_reward
from assay.dsl.program import Gate, Program, Reward, Term, Use, Verify
from assay.dsl.schema import check_shape
from assay.dsl.source.diagnostic import Finding, finding, render, sort_findings
from assay.dsl.source.given import tree_of
from assay.dsl.source.loader import load
from assay.dsl.source.mark import Mapping

LOCAL = "local"


class Compiled(msgspec.Struct, frozen=True):
    """One domain compiled.

    Attributes:
        findings: All of them, by place; those that `allow:` names are left out.
        program: None where a finding is an error.
        facts: None where the program is.
        base: Folder that relative paths of its sources start from.
    """

    findings: tuple[Finding, ...]
    program: Program | None
    facts: DomainFacts | None
    base: Path

    @property
    def is_good(self) -> bool:
        """Whether no finding is an error."""
        return self.program is not None

    def require(self) -> Program:
        """Return the program.

        Raises:
            SourceError: a finding is an error; all are attached and shown.
        """
        if self.program is None:
            shown = "\n\n".join(render(item) for item in self.findings if item.severity == "error")
            raise SourceError(f"a domain must compile\n\n{shown}", findings=self.findings)
        return self.program


def compile_file(path: Path, registry: Registry, shown: str | None = None, dist: str = LOCAL) -> Compiled:
    """Compile a domain file.

    Args:
        path: Where it lies.
        registry: What is installed.
        shown: The path as findings show it; default as given.
        dist: Distribution it belongs to; `local` outside a package.

    Raises:
        OSError: the file cannot be read.
    """
    return compile_bytes(path.read_bytes(), registry, shown or str(path), path.parent, dist)


def compile_bytes(data: bytes, registry: Registry, shown: str, base: Path, dist: str = LOCAL) -> Compiled:
    """Compile the text of a domain file."""
    loaded = load(data, shown)
    tree = loaded.rest if loaded.tree is None else loaded.tree
    if tree is None:
        return Compiled(tuple(sort_findings(loaded.findings)), None, None, base)
    return compile_tree(tree, registry, base, dist, loaded.findings, loaded.lost)


def compile_offer(offer: Offer, registry: Registry) -> Compiled:
    """Compile a domain that an installed package declares, in Python or as a file."""
    if isinstance(offer.value, Domain):
        tree, findings = declared_tree(offer.value)
        return compile_tree(tree, registry, offer.value.path.parent, offer.dist, findings)
    return compile_file(offer.value.path, registry, dist=offer.dist)


def declared_tree(domain: Domain) -> tuple[Mapping, tuple[Finding, ...]]:
    """Return the marked tree of a Python declaration, and what of it has no place in the language."""
    given = tree_of(domain.document, str(domain.path), domain.line)
    assert given.tree is not None
    return given.tree, given.findings


def compile_tree(
    tree: Mapping,
    registry: Registry,
    base: Path,
    dist: str = LOCAL,
    findings: tuple[Finding, ...] = (),
    lost: frozenset[str] = frozenset(),
) -> Compiled:
    """Compile a marked tree.

    Args:
        tree: Of a file, a Python declaration, or either with overrides applied.
        registry: What is installed.
        base: Folder that relative paths of sources start from.
        dist: Distribution it belongs to.
        findings: What reading it has found already.
        lost: Keys of blocks that could not be read; there are findings then.
    """
    functions, refused = _functions(registry)
    checked = check_shape(tree, DOMAIN, lost=lost)
    declared, read = read_domain(checked, registry, functions, base)
    if findings:
        declared.is_whole = declared.is_reward_whole = False
    analysis, inferred = analyse(declared, functions)
    # A refused function is unknown to the checks; one cause, one finding.
    unknown = {f"unknown function `{name}`" for name in refused}
    read = [item for item in read if item.message not in unknown] + _clashes(declared, refused)
    found = [*findings, *checked.findings, *read, *inferred]
    found += lint_reward(analysis)
    found += lint_grading(declared, analysis, registry)
    found += lint_liveness(declared, analysis)
    if lost:
        found = [*findings, *(item for item in found[len(findings) :] if not _follows(item, lost))]
    if not any(item.severity == "error" for item in found):
        found += lint_incentive(analysis, functions)
    kept = sort_findings(_allowed(found, declared))
    if any(item.severity == "error" for item in kept):
        return Compiled(tuple(kept), None, None, base)
    program = _program(declared, analysis, dist, registry)
    return Compiled(tuple(kept), program, domain_facts(declared, analysis, dist, program.digest), base)


# What may be nothing but the consequence of a block that could not be read: the beginnings of codes, by its key.
_CONSEQUENCES = {
    "fields": ("RX001", "DA", "RW"),
    "params": ("RX001", "RW"),
    "verify": ("RX001", "RW", "SB", "DT"),
    "episode": ("RW",),
    "answer": ("RX003",),
    "sandbox": ("SB",),
    "allow": ("RW", "SB"),
    "reward": ("RX001", "RW"),
    "?": ("RX", "DA", "RW", "SB", "DT"),
}


def _follows(item: Finding, lost: frozenset[str]) -> bool:
    known = lost & DOMAIN.keys.keys()
    return any(item.code.startswith(_CONSEQUENCES.get(key, ())) for key in (known or {"?"}))


def domain_id(tree: Mapping) -> str:
    """Return the id that a domain's tree states; empty where it states none."""
    node = tree.get("domain")
    return getattr(node, "text", "").strip()


def _functions(registry: Registry) -> tuple[dict[str, Entry], dict[str, str]]:
    """Return the functions of the language and of plugins, and why a name is none."""
    functions, refused = dict(BUILTIN), {}
    for name in registry.names("function"):
        try:
            function: Function = registry.find("function", name).value
        except PluginError as error:
            refused[name] = str(error)
            continue
        if name in BUILTIN:
            refused[name] = f"function `{name}` belongs to the language and cannot be offered again"
        else:
            functions[name] = plugin_entry(function)
    return functions, refused


def _clashes(declared: Declared, refused: dict[str, str]) -> list[Finding]:
    """Report PL001 where an expression calls a function that two packages offer, or that is not theirs to offer."""
    found = []
    for formula in declared.formulas():
        for name, reason in refused.items():
            called = re.search(rf"\b{re.escape(name)}\s*\(", formula.scalar.text)
            if called is not None:
                found.append(finding("PL001", formula.scalar.part(*called.span()), reason, "", formula.at))
    return found


def _allowed(found: list[Finding], declared: Declared) -> list[Finding]:
    """Leave out what `allow:` names; an entry that matches nothing is a warning itself."""
    aliases = {f"reward.gate.{gate.name}": f"reward.gate.{gate.index}" for gate in declared.gates}
    # What is wrong with the reward as a whole is shown at its outcome.
    aliases["reward"] = "reward.outcome"
    kept = list(found)
    for allowance, span in declared.allow:
        matches = [f for f in found if f.code == allowance.code and allowance.at in (f.at, aliases.get(f.at))]
        kept = [item for item in kept if item not in matches]
        if not matches:
            message = f"`allow` must match a finding, got {allowance.code} at {allowance.at}"
            kept.append(finding("RW010", span, message, "remove the entry", "allow"))
    return kept


def _program(declared: Declared, analysis: Analysis, dist: str, registry: Registry) -> Program:
    success = analysis.scope.success
    assert success is not None
    sections = {
        name: tuple(Term(term.name, _node(term.formula.node)) for term in analysis.section(name))
        for name in ("outcome", "process", "efficiency")
    }
    reward = Reward(
        success=strip(success),
        is_default_success=declared.success is None,
        gates=tuple(Gate(gate.name, _node(gate.condition.node), _node(gate.otherwise.node)) for gate in declared.gates),
        outcome=sections["outcome"],
        process=sections["process"],
        when=None if declared.when is None else _node(declared.when.node),
        efficiency=sections["efficiency"],
    )
    reward = msgspec.structs.replace(reward, functions=_used_functions(reward, registry))
    return Program(
        edition=1,
        dist=dist,
        id=declared.id,
        version=declared.version,
        fields=declared.fields,
        data=declared.data,
        system=declared.system,
        prompt=declared.prompt,
        params=declared.params,
        answer=None if declared.answer is None else declared.answer.use,
        episode=declared.episode,
        sandbox=declared.sandbox,
        verify={name: _verify(bound.use, bound.offer) for name, bound in declared.verify.items()},
        reward=reward,
        group=declared.group,
        summary=declared.summary,
        examples=tuple(declared.examples),
        controls=tuple(declared.controls),
        calibration=declared.calibration or msgspec.UNSET,
        allow=tuple(allowance for allowance, _ in declared.allow),
    )


def _used_functions(reward: Reward, registry: Registry) -> dict[str, int]:
    """Return the versions of the plugin functions that a reward calls."""
    names = {part.function for node in reward.nodes() for part in walk(node) if isinstance(part, Call)}
    return {name: registry.find("function", name).value.version for name in sorted(names - BUILTIN.keys())}


def _verify(use: Use, offer: Offer) -> Verify:
    leaf = offer.value
    return Verify(use, leaf.signals, leaf.tier, leaf.is_deterministic)


def _node(node: Expr | None) -> Expr:
    assert node is not None
    return strip(node)
