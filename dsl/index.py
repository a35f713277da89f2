"""The domains that installed packages declare, by id."""

from pathlib import Path

import msgspec

from assay.core.declare import Domain
from assay.core.error import PluginError
from assay.core.name import suggestion
from assay.core.registry import Offer, Registry
from assay.dsl.compile import LOCAL, Compiled, compile_tree, declared_tree, domain_id
from assay.dsl.source.diagnostic import Finding
from assay.dsl.source.loader import load
from assay.dsl.source.mark import Mapping


class Found(msgspec.Struct, frozen=True):
    """A domain before it is compiled.

    Attributes:
        id: Id inside its package.
        dist: Distribution; `local` for a file outside a package.
        tree: None where the file cannot be read as YAML.
        findings: What reading it has found.
        base: Folder that relative paths of its sources start from.
        shown: Path, or path and line of the Python declaration.
        rest: What could be read where there is no tree.
        lost: Keys of the blocks that could not.
    """

    id: str
    dist: str
    tree: Mapping | None
    findings: tuple[Finding, ...]
    base: Path
    shown: str
    rest: Mapping | None = None
    lost: frozenset[str] = frozenset()

    def compile(self, registry: Registry) -> Compiled:
        """Compile it as it stands."""
        tree = self.rest if self.tree is None else self.tree
        if tree is None:
            return Compiled(self.findings, None, None, self.base)
        return compile_tree(tree, registry, self.base, self.dist, self.findings, self.lost)


class DomainIndex:
    """Finds domains by `id` or `<distribution>/<id>`; files are read once, when first asked for."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._found: list[Found] | None = None

    def all(self) -> list[Found]:
        """Return every declared domain, in the order of discovery."""
        if self._found is None:
            self._found = [_read(offer) for offer in self.registry.of_kind("domain")]
        return self._found

    def find(self, name: str) -> Found:
        """Return the one domain of a name.

        Raises:
            PluginError: nobody declares it (with the nearest ids), or more than one package does.
        """
        found = [item for item in self.all() if name in (item.id, f"{item.dist}/{item.id}")]
        if len(found) == 1:
            return found[0]
        if found:
            owners = " and ".join(sorted(item.dist for item in found))
            raise PluginError(
                f"domain `{name}` must be declared once", got=owners, todo=f"Write {found[0].dist}/{name}"
            )
        hint = suggestion(name, [item.id for item in self.all()])
        if self.registry.failures:
            hint = "; ".join(filter(None, [hint, f"not loaded: {', '.join(f.dist for f in self.registry.failures)}"]))
        raise PluginError(f"unknown domain `{name}`", todo=hint or None, code="CU001")


def read_domain_file(path: Path, shown: str | None = None, dist: str = LOCAL) -> Found:
    """Read a domain file without compiling it.

    Raises:
        OSError: the file cannot be read.
    """
    loaded = load(path.read_bytes(), shown or str(path))
    name = domain_id(loaded.tree) if loaded.tree is not None else ""
    place = shown or str(path)
    return Found(name, dist, loaded.tree, loaded.findings, path.parent, place, loaded.rest, loaded.lost)


def _read(offer: Offer) -> Found:
    if isinstance(offer.value, Domain):
        tree, findings = declared_tree(offer.value)
        domain = offer.value
        return Found(domain.id, offer.dist, tree, findings, domain.path.parent, f"{domain.path}:{domain.line}")
    return read_domain_file(offer.value.path, dist=offer.dist)
