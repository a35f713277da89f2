"""One job, whole: its configuration, its curriculum with overrides, and the compiled domain of every mix entry."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.name import suggestion
from assay.core.registry import Registry
from assay.dsl.curriculum import CompiledCurriculum, compile_curriculum
from assay.dsl.edition import CURRICULUM, DOMAIN
from assay.dsl.index import Found
from assay.dsl.source import override as edit
from assay.dsl.source.diagnostic import Finding, finding, sort_findings
from assay.dsl.source.mark import Mapping, Node, Scalar
from assay.runtime.config.composition import Composition, compose
from assay.runtime.config.override import Override
from assay.runtime.config.selection import lines

# The entry of an override that means all of them.
_EVERY = "*"


class Mix(msgspec.Struct, frozen=True):
    """A curriculum and its domains, with overrides applied.

    Attributes:
        tree: The curriculum.
        trees: By mix entry: the domain.
        compiled: The curriculum with its domains.
        findings: All of them.
    """

    tree: Mapping
    trees: dict[str, Mapping]
    compiled: CompiledCurriculum
    findings: tuple[Finding, ...]


class Job(msgspec.Struct, frozen=True):
    """One job.

    Attributes:
        composition: Choices and settings.
        mix: None where the curriculum's file cannot be read.
        findings: All of them.
    """

    composition: Composition
    mix: Mix | None
    findings: tuple[Finding, ...]

    def resolved(self) -> dict[str, Any]:
        """Return the whole configuration as plain values; declared texts stay texts."""
        document = {key: value for key, value in self.composition.job.items() if key not in ("curriculum", "domain")}
        if self.mix is not None:
            document["curriculum"] = plain(self.mix.tree)
            document["domain"] = {name: plain(tree) for name, tree in self.mix.trees.items()}
        return document

    def origins(self) -> dict[str, str]:
        """Return dotted key -> `<override n>`, `file:line` or `default`, for every value of `resolved`."""
        origins = dict(self.composition.origins)
        trees = {} if self.mix is None else {f"domain.{name}": tree for name, tree in self.mix.trees.items()}
        if self.mix is not None:
            trees["curriculum"] = self.mix.tree
        for prefix, tree in trees.items():
            for key, span in lines(tree, prefix).items():
                origins[key] = span.path if span.path.startswith("<override ") else f"{span.path}:{span.line}"
        return origins


def prepare(overrides: Sequence[Override], registry: Registry) -> Job:
    """Compose a job, apply the overrides of declared texts and compile the domains of its mix.

    Raises:
        PluginError: a package names a config folder that it does not have.
    """
    composition = compose(overrides, registry)
    chosen = composition.choices.get("curriculum")
    if chosen is None or chosen.tree is None:
        return Job(composition, None, tuple(sort_findings(composition.findings)))
    batch = None if composition.settings is None else composition.settings.trainer.batch
    mix = compile_mix(chosen.tree, composition.declared, registry, chosen.path.parent, batch)
    return Job(composition, mix, tuple(sort_findings([*composition.findings, *mix.findings])))


def compile_mix(
    tree: Mapping,
    overrides: Sequence[Override],
    registry: Registry,
    base: Path,
    batch: int | None = None,
    lost: frozenset[str] = frozenset(),
) -> Mix:
    """Apply overrides to a curriculum and to the domains of its mix, and compile these.

    Args:
        tree: Of the curriculum's file.
        overrides: Those of domains and of the curriculum; one of `domain.*` edits every entry, or is a finding.
        registry: What is installed.
        base: Folder of the file.
        batch: Groups of one step where a stage states none.
        lost: Keys of blocks of the file that could not be read.
    """
    findings: list[Finding] = []
    edits = _edits(overrides, findings)
    tree, found = edit.apply_overrides(tree, [one for one in edits if one.target == "curriculum"], CURRICULUM)
    findings += found
    names = mix_names(tree)
    by_path = {override.key_span.path: override for override in overrides}
    findings += [
        _no_entry(one, by_path[one.source.path], names)
        for one in edits
        if one.target == "domain" and one.entry not in (*names, _EVERY)
    ]
    trees: dict[str, Mapping] = {}

    def apply(name: str, domain: Found) -> tuple[Found, list[Finding]]:
        if domain.tree is None:
            return domain, []
        mine = [one for one in edits if one.target == "domain" and one.entry in (name, _EVERY)]
        trees[name], faults = edit.apply_overrides(domain.tree, mine, DOMAIN)
        return msgspec.structs.replace(domain, tree=trees[name]), list(faults)

    compiled = compile_curriculum(tree, registry, base, edit=apply, batch=batch, lost=lost)
    return Mix(tree, trees, compiled, tuple(sort_findings([*findings, *compiled.findings])))


def mix_names(curriculum: Mapping) -> tuple[str, ...]:
    """Return the names of the mix entries."""
    mix = curriculum.get("mix")
    return tuple(mix.keys()) if isinstance(mix, Mapping) else ()


def plain(node: Node) -> Any:
    """Return a tree as plain values: texts, None, dicts and lists."""
    if isinstance(node, Scalar):
        return None if node.is_null else node.text
    if isinstance(node, Mapping):
        return {entry.key.text: plain(entry.value) for entry in node}
    return [plain(item) for item in node.items]


def _edits(overrides: Sequence[Override], findings: list[Finding]) -> list[edit.Override]:
    edits = []
    for override in overrides:
        parsed = edit.parse_override(override.text, override.index)
        if isinstance(parsed, Finding):
            findings.append(parsed)
        else:
            edits.append(parsed)
    return edits


def _no_entry(one: edit.Override, override: Override, names: tuple[str, ...]) -> Finding:
    start = override.key_span.column + len("domain.")
    span = msgspec.structs.replace(override.key_span, column=start, end_column=start + len(one.entry))
    return finding("CF001", span, f"no mix entry is named `{one.entry}`", suggestion(one.entry, names))
