"""Which sandbox backend gives controls their boxes."""

from collections.abc import Collection

from assay.core.error import PluginError
from assay.core.registry import Registry
from assay.core.sandbox import SandboxBackend
from assay.runtime.sandbox.open import waived


def choose_backend(needs: Collection[str], registry: Registry, name: str | None = None) -> SandboxBackend | None:
    """Return the backend that declares everything needed; None where nothing is needed.

    Args:
        needs: Capabilities, as `DomainFacts.needs` holds them.
        registry: What is installed.
        name: The one to take, whose user does without what it says it may be named without; None for the first that
            declares enough.

    Raises:
        PluginError: none does (SB001), or nobody offers the name.
    """
    if not needs:
        return None
    wanted = frozenset(needs)
    offers = [registry.find("sandbox", name)] if name is not None else list(registry.of_kind("sandbox"))
    backends: list[SandboxBackend] = [offer.value for offer in offers]
    lacks = []
    for backend in backends:
        lacking = wanted - backend.capabilities() - (waived(backend) if name is not None else frozenset())
        if not lacking:
            return backend
        lacks.append(f"{backend.name} lacks {', '.join(sorted(lacking))}")
    raise PluginError(
        f"controls of this domain must have a sandbox that declares {', '.join(sorted(wanted))}",
        got="; ".join(lacks) or "no sandbox",
        todo="The docker backend does: pip install assay-sandbox-docker",
        code="SB001",
    )
