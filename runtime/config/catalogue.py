"""The domains that installed packages declare, found by id.

A domain file states its id inside, so looking one up by id may read files; each is read once. Nothing is compiled here.
"""

from pathlib import Path

import msgspec

from assay.core.declare import Domain
from assay.core.error import PluginError
from assay.core.name import suggestion
from assay.core.registry import Offer, Registry
from assay.dsl.compile import declared_tree, domain_id
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.loader import load
from assay.dsl.source.mark import Mapping, Span


class DomainTree(msgspec.Struct, frozen=True):
    """One declared domain as text with positions.

    Attributes:
        id: As it states; empty where it states none.
        tree: None where it cannot be read.
        findings: Of reading it.
        base: Folder that relative paths of its sources start from.
        dist: Distribution that declares it.
        version: Of the distribution.
    """

    id: str
    tree: Mapping | None
    findings: tuple[Finding, ...]
    base: Path
    dist: str
    version: str


class Catalogue:
    """All declared domains of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._offers = list(registry.of_kind("domain"))
        self._failed = [failure.dist for failure in registry.failures]
        self._read: dict[int, DomainTree] = {}

    def all(self) -> list[DomainTree]:
        """Return every domain, in the order of discovery."""
        return [self._tree(index) for index in range(len(self._offers))]

    def find(self, name: str) -> DomainTree:
        """Return the domain of an id, or of `<distribution>/<id>`.

        Raises:
            PluginError: nobody declares it (RX006, with the nearest ids), or more than one does (PL001).
        """
        dist, _, domain = name.rpartition("/")
        found = [
            self._tree(index)
            for index, offer in enumerate(self._offers)
            if dist in ("", offer.dist) and self._may_be(index, domain) and self._tree(index).id == domain
        ]
        if len(found) == 1:
            return found[0]
        if found:
            owners = " and ".join(f"{one.dist} {one.version}" for one in found)
            raise PluginError(f"domain `{name}` must be declared once", got=owners, todo="Write <distribution>/<id>")
        hint = suggestion(domain, [one.id for one in self.all() if one.id])
        if self._failed:
            hint = "; ".join(filter(None, [hint, f"not loaded: {', '.join(self._failed)}"]))
        raise PluginError(f"unknown domain `{name}`", todo=hint or None, code="RX006")

    def _may_be(self, index: int, domain: str) -> bool:
        """Whether an offer can have an id; of a Python declaration this is known without reading it."""
        value = self._offers[index].value
        return not isinstance(value, Domain) or value.id == domain

    def _tree(self, index: int) -> DomainTree:
        if index not in self._read:
            self._read[index] = read_offer(self._offers[index])
        return self._read[index]


def read_offer(offer: Offer) -> DomainTree:
    """Return the tree of a domain that a package offers."""
    if isinstance(offer.value, Domain):
        tree, findings = declared_tree(offer.value)
        return DomainTree(domain_id(tree), tree, findings, offer.value.path.parent, offer.dist, offer.version)
    return read_file(offer.value.path, str(offer.value.path), offer.dist, offer.version)


def read_file(path: Path, shown: str, dist: str, version: str = "") -> DomainTree:
    """Return the tree of a domain file; one that cannot be read is a finding."""
    try:
        loaded = load(path.read_bytes(), shown)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        found = finding("YM005", Span(shown, 1, 1, 1), f"a file must be readable, got {reason}")
        return DomainTree("", None, (found,), path.parent, dist, version)
    name = domain_id(loaded.tree) if loaded.tree is not None else ""
    return DomainTree(name, loaded.tree, loaded.findings, path.parent, dist, version)
