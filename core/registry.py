"""The registry: everything that installed packages offer, with its owner.

Invariants: an offer knows its distribution and version; a package that fails to load is recorded, never lost, and is
fatal only to whoever needs it; a name offered twice can be found by nobody. A worker does not repeat the parent's
search: it gets `dist:version:module:attribute` and loads that one module.
"""

import importlib.metadata
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import msgspec
import pluggy

from assay.core import hook
from assay.core.declare import Domain, DomainFile
from assay.core.error import PluginError
from assay.core.name import suggestion

HOST = "assay-rl"
_HOOKS = {kind: name for name, kind in hook.NAMED.items()}


class Offer(msgspec.Struct, frozen=True):
    """One named thing that one distribution offers.

    Attributes:
        kind: Such as `verifier`.
        name: Such as `tests.pytest`; for a domain file its path.
        value: The leaf, factory, backend or declaration itself.
        dist: Distribution, such as `assay-cases`.
        version: Of the distribution.
    """

    kind: str
    name: str
    value: Any
    dist: str
    version: str

    @property
    def ref(self) -> str:
        """`dist:version:module:attribute` for a worker; empty where the value is no module attribute."""
        object_name = getattr(self.value, "object_name", "")
        return f"{self.dist}:{self.version}:{object_name}" if object_name else ""


class PluginFailure(msgspec.Struct, frozen=True):
    """A package, or one of its hooks, that did not load.

    Attributes:
        dist: Distribution.
        version: Its version.
        what: Entry point or hook.
        reason: One line: what must hold and what came.
        story: Traceback, for `assay plugins --verbose`.
    """

    dist: str
    version: str
    what: str
    reason: str
    story: str = ""


class Registry:
    """All offers of a set of plugin modules.

    Attributes:
        plugins: Distribution -> version, in the order of discovery.
        offers: In the order of discovery.
        failures: What did not load.
    """

    def __init__(self) -> None:
        self.plugins: dict[str, str] = {}
        self.offers: list[Offer] = []
        self.failures: list[PluginFailure] = []
        self._by_name: dict[tuple[str, str], list[Offer]] = {}

    def add(self, module: ModuleType | object, dist: str, version: str) -> None:
        """Take in one plugin module; what fails is recorded in `failures`."""
        manager = pluggy.PluginManager("assay")
        manager.add_hookspecs(hook)
        self.plugins[dist] = version
        try:
            manager.register(module)
            manager.check_pending()
        except pluggy.PluginValidationError as error:
            self.failures.append(PluginFailure(dist, version, "hooks", str(error).replace("\n", " ")))
            return
        for caller in manager.get_hookcallers(module) or ():
            for implementation in caller.get_hookimpls():
                self._call(caller.name, implementation.function, dist, version)

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names offered of one kind, sorted."""
        return tuple(sorted(name for offered, name in self._by_name if offered == kind))

    def of_kind(self, kind: str) -> Iterator[Offer]:
        """Yield all offers of one kind."""
        return (offer for offer in self.offers if offer.kind == kind)

    def find(self, kind: str, name: str) -> Offer:
        """Return the one offer of a name.

        Raises:
            PluginError: nobody offers it (RX006, with the nearest names and the packages that failed to load), or more
                than one does (PL001, naming all).
        """
        found = self._by_name.get((kind, name), [])
        if len(found) == 1:
            return found[0]
        if found:
            raise PluginError(
                f"{kind} `{name}` must be offered once",
                got=" and ".join(f"{offer.dist} {offer.version}" for offer in found),
                todo="Uninstall one of them",
            )
        hint = suggestion(name, self.names(kind))
        if self.failures:
            hint = "; ".join(filter(None, [hint, f"not loaded: {', '.join(f.dist for f in self.failures)}"]))
        raise PluginError(f"unknown {kind.replace('_', ' ')} `{name}`", todo=hint or None, code="RX006")

    def clashes(self) -> list[tuple[Offer, ...]]:
        """Return every set of offers that share kind and name."""
        return [tuple(offers) for offers in self._by_name.values() if len(offers) > 1]

    def _call(self, hook_name: str, implementation: Any, dist: str, version: str) -> None:
        kind = hook.NAMED[hook_name]
        try:
            for value in implementation():
                self._offer(Offer(kind, _name_of(kind, value), value, dist, version))
        except Exception as error:
            self.failures.append(_failure(dist, version, hook_name, error))

    def _offer(self, offer: Offer) -> None:
        self.offers.append(offer)
        self._by_name.setdefault((offer.kind, offer.name), []).append(offer)


@cache
def installed() -> Registry:
    """Return the registry of everything installed in this environment."""
    registry = Registry()
    for entry in importlib.metadata.entry_points(group="assay"):
        dist = entry.dist.name if entry.dist is not None else "local"
        version = entry.dist.version if entry.dist is not None else "0"
        if reason := _host_misfit(entry.dist):
            registry.failures.append(PluginFailure(dist, version, entry.value, reason))
            continue
        try:
            module = entry.load()
        except Exception as error:
            registry.failures.append(_failure(dist, version, entry.value, error))
            continue
        registry.add(module, dist, version)
    return registry


def resolve(ref: str) -> Any:
    """Return the object behind `dist:version:module:attribute`, loading only its module.

    Raises:
        PluginError: the distribution is absent, has another version, or has no such object.
    """
    dist, _, rest = ref.partition(":")
    version, _, object_name = rest.partition(":")
    try:
        found = importlib.metadata.version(dist)
    except importlib.metadata.PackageNotFoundError:
        raise PluginError("a worker must have the plugins of its run", got=f"no {dist}", at=ref) from None
    if found != version:
        raise PluginError(
            f"a worker must have {dist} {version}",
            got=found,
            at=ref,
            todo="Install the same versions on every host",
        )
    try:
        return pkgutil.resolve_name(object_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise PluginError("a plugin object must load in a worker", got=f"{error}", at=ref) from error


def owner_of(ref: str) -> str:
    """Return the distribution and version of `dist:version:module:attribute`, for an error that names the culprit."""
    return " ".join(ref.split(":", 2)[:2])


def _name_of(kind: str, value: Any) -> str:
    if kind == "domain":
        if isinstance(value, Domain):
            return value.id
        if isinstance(value, DomainFile):
            return str(value.path)
        raise PluginError("assay_domains must return Domain or DomainFile objects", got=type(value).__name__)
    if kind == "config_dir":
        return str(value)
    name = getattr(value, "name", None)
    if not isinstance(name, str) or (getattr(value, "leaf", kind) != kind):
        raise PluginError(f"hook `{_HOOKS[kind]}` must return items of kind {kind}", got=repr(value))
    return name


def _failure(dist: str, version: str, what: str, error: Exception) -> PluginFailure:
    reason = str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
    return PluginFailure(dist, version, what, reason.replace("\n", " "), traceback.format_exc())


def _host_misfit(dist: importlib.metadata.Distribution | None) -> str | None:
    if dist is None or dist.name == HOST:
        return None
    host = sys.modules["assay"].__version__
    for line in dist.requires or ():
        match = re.match(r"assay[-_.]rl\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)", line, re.IGNORECASE)
        if match and match[1].strip() and not _satisfies(host, match[1]):
            return f"{HOST} must satisfy {match[1].strip()}, got {host}"
    return None


def _satisfies(version: str, specifiers: str) -> bool:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(specifiers).contains(version, prereleases=True)
