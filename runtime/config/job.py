"""One job, whole: its configuration, its curriculum with overrides, and the compiled domain of every mix entry."""

from collections.abc import Sequence
from typing import Any

import msgspec

from assay.core.error import PluginError
from assay.core.name import suggestion
from assay.core.registry import Registry
from assay.dsl.compile import Compiled, compile_tree
from assay.dsl.edition import CURRICULUM, DOMAIN
from assay.dsl.schema import Shape
from assay.dsl.source import override as edit
from assay.dsl.source.diagnostic import Finding, finding, sort_findings
from assay.dsl.source.mark import Mapping, Node, Scalar
from assay.runtime.config.catalogue import Catalogue
from assay.runtime.config.composition import Composition, compose
from assay.runtime.config.override import Override
from assay.runtime.config.selection import lines


class Mix(msgspec.Struct, frozen=True):
    """A curriculum and its domains, with overrides applied.

    Attributes:
        curriculum: Its tree.
        trees: By mix entry: the domain's tree.
        entries: By mix entry: the compiled domain.
        findings: Of everything but what the curriculum itself means.
    """

    curriculum: Mapping
    trees: dict[str, Mapping]
    entries: dict[str, Compiled]
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
            document["curriculum"] = plain(self.mix.curriculum)
            document["domain"] = {name: plain(tree) for name, tree in self.mix.trees.items()}
        return document

    def origins(self) -> dict[str, str]:
        """Return dotted key -> `<override n>`, `file:line` or `default`, for every value of `resolved`."""
        origins = dict(self.composition.origins)
        trees = {} if self.mix is None else {f"domain.{name}": tree for name, tree in self.mix.trees.items()}
        if self.mix is not None:
            trees["curriculum"] = self.mix.curriculum
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
    mix = compile_mix(chosen.tree, composition.declared, registry)
    return Job(composition, mix, tuple(sort_findings([*composition.findings, *mix.findings])))


def compile_mix(tree: Mapping, overrides: Sequence[Override], registry: Registry) -> Mix:
    """Apply overrides to a curriculum and to the domains of its mix, and compile these.

    Args:
        tree: Of the curriculum's file.
        overrides: Those of `domain.*` and `curriculum.*`.
        registry: What is installed.
    """
    findings: list[Finding] = []
    edits = _edits(overrides, findings)
    tree = _apply(tree, [one for one in edits if one.target == "curriculum"], CURRICULUM, findings)
    names = mix_entries(tree)
    by_path = {override.key_span.path: override for override in overrides}
    for one in edits:
        if one.target == "domain" and one.entry not in names:
            findings.append(_no_entry(one, by_path[one.source.path], names))
    trees: dict[str, Mapping] = {}
    entries: dict[str, Compiled] = {}
    catalogue = Catalogue(registry)
    for name, scalar in names.items():
        try:
            domain = catalogue.find(scalar.text.strip())
        except PluginError as error:
            findings.append(finding("CU001", scalar.span, error.must, error.todo or "", f"mix.{name}.domain"))
            continue
        if domain.tree is None:
            findings += domain.findings
            continue
        mine = [one for one in edits if one.target == "domain" and one.entry == name]
        trees[name] = _apply(domain.tree, mine, DOMAIN, findings)
        entries[name] = compile_tree(trees[name], registry, domain.base, domain.dist, domain.findings)
        findings += entries[name].findings
    return Mix(tree, trees, entries, tuple(findings))


def mix_entries(curriculum: Mapping) -> dict[str, Scalar]:
    """Return the domain that each mix entry names; entries that name none are the curriculum's own findings."""
    mix = curriculum.get("mix")
    found: dict[str, Scalar] = {}
    for entry in mix if isinstance(mix, Mapping) else ():
        domain = entry.value.get("domain") if isinstance(entry.value, Mapping) else None
        if isinstance(domain, Scalar) and not domain.is_null:
            found[entry.key.text] = domain
    return found


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


def _apply(tree: Mapping, edits: list[edit.Override], shape: Shape, findings: list[Finding]) -> Mapping:
    edited, found = edit.apply_overrides(tree, edits, shape)
    findings += found
    return edited


def _no_entry(one: edit.Override, override: Override, names: dict[str, Scalar]) -> Finding:
    start = override.key_span.column + len("domain.")
    span = msgspec.structs.replace(override.key_span, column=start, end_column=start + len(one.entry))
    return finding("CF001", span, f"no mix entry is named `{one.entry}`", suggestion(one.entry, names))
