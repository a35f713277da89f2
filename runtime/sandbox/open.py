"""From the group `sandbox` of a configuration to boxes that verifiers get."""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from assay.core.error import ConfigError, PluginError, SandboxError
from assay.core.leaf import Verifier
from assay.core.registry import Registry, resolve
from assay.core.sandbox import SandboxBackend
from assay.dsl.lint.grading import capabilities_of
from assay.dsl.program import Program
from assay.runtime.config.setting import SandboxSettings
from assay.runtime.run.plan import RunPlan
from assay.runtime.sandbox.host import BoxHost

NONE = "none"


def needs_of(program: Program, verifiers: Iterable[Verifier]) -> tuple[str, ...]:
    """Return what a backend must be able to do for those verifiers of a program that want a box; empty for none."""
    words = [capabilities_of(program.sandbox, verifier) for verifier in verifiers if verifier.needs.sandbox]
    return tuple(sorted(frozenset[str]().union(*words)))


def attach_sandbox(
    plan: RunPlan, sandbox: Mapping[str, Any], registry: Registry, *, option: str = "sandbox="
) -> RunPlan:
    """Return a plan whose verifiers have boxes of the chosen backend.

    Args:
        plan: Of a run.
        sandbox: Settings of the group, as plain values.
        registry: What is installed.
        option: How a backend is chosen here, for errors.

    Raises:
        ConfigError: a verifier wants a box and no backend is chosen, or no verifier wants one.
        PluginError: nobody offers the chosen backend, or it cannot do what is needed (SB001).
    """
    wanting = [entry for entry in plan.entries if entry.needs]
    if not wanting:
        if sandbox["name"] != NONE:
            raise ConfigError("a sandbox must be wanted by a verifier of the mix", got="none", at="sandbox.name")
        return plan
    name = sandbox["name"]
    refs = [backend_ref(name, e.needs, e.program, f"mix.{e.name}", registry, option=option) for e in wanting]
    return msgspec.structs.replace(
        plan,
        settings={**plan.settings, "sandbox": dict(sandbox)},
        factories={**plan.factories, "sandbox": refs[0]},
    )


def backend_ref(
    name: str, needs: Iterable[str], program: Program, at: str, registry: Registry, *, option: str = "sandbox="
) -> str:
    """Return `dist:version:module:class` of a backend that can do what is needed.

    Args:
        name: Of the backend; `none` where none was chosen.
        needs: As `needs_of` says.
        program: Of the domain.
        at: For errors.
        registry: What is installed.
        option: How one is chosen here, for errors.

    Raises:
        ConfigError: none was chosen, or the domain does not say what its boxes are like.
        PluginError: nobody offers it, or it cannot do what is needed (SB001).
    """
    if name == NONE:
        raise ConfigError(
            "a domain whose verifiers want boxes must have a sandbox",
            got="sandbox=none",
            at=at,
            todo=f"Add {option}docker, which isolates, or {option}process, which does not",
        )
    if program.sandbox is None:
        raise ConfigError(
            "a domain whose verifiers want boxes must say what they are like",
            got="no `sandbox:`",
            at=f"{at}: {program.identity}",
            todo="Add `sandbox: {image: NAME}`",
        )
    offer = registry.find("sandbox", name)
    if lacking := frozenset(needs) - offer.value.capabilities() - waived(offer.value):
        raise PluginError(
            f"the sandbox `{name}` must be able to do what the domain needs",
            got=f"no {', '.join(sorted(lacking))}",
            at=at,
            todo="`assay plugins` lists what is installed",
            code="SB001",
        )
    kind = type(offer.value)
    return f"{offer.dist}:{offer.version}:{kind.__module__}:{kind.__qualname__}"


def open_boxes(plan: RunPlan) -> BoxHost | None:
    """Return boxes for the verifiers of a plan; None where none wants one. What killed owners left is removed."""
    if "sandbox" not in plan.factories or not any(entry.needs for entry in plan.entries):
        return None
    return open_host(plan.factories["sandbox"], plan.settings["sandbox"])


def open_host(ref: str, given: Mapping[str, Any]) -> BoxHost:
    """Return boxes of one backend.

    Args:
        ref: As `backend_ref` says.
        given: Settings of the group; those left out have their defaults.

    Raises:
        PluginError: the backend's package cannot be loaded here.
    """
    sandbox = msgspec.convert(given, SandboxSettings)
    host = BoxHost(
        resolve(ref)(**sandbox.options),
        acquire_s=sandbox.acquire_s,
        patience_s=sandbox.patience_s,
        num_boxes=sandbox.boxes,
    )
    host.reap()
    return host


def prepare_boxes(plan: RunPlan) -> None:
    """Make the images of a plan ready, before anything is started.

    Raises:
        SandboxError: the backend does not answer, or has no such image.
    """
    images = {e.program.sandbox.image for e in plan.entries if e.needs and e.program.sandbox is not None}
    if images and "sandbox" in plan.factories:
        asyncio.run(_prepare(_backend(plan), sorted(images)))


def reap_boxes(plan: RunPlan) -> None:
    """Remove what killed verify workers of a run left; a backend that is out of order is left to the next run."""
    if "sandbox" in plan.factories:
        with contextlib.suppress(SandboxError):
            asyncio.run(_backend(plan).reap())


def unguarded(plan: RunPlan) -> list[str]:
    """Return what the boxes of a plan do not keep answers from; one line for each entry."""
    if "sandbox" not in plan.factories:
        return []
    without, name = waived(_backend(plan)), plan.settings["sandbox"]["name"]
    lines = []
    for entry in plan.entries:
        if lost := without.intersection(entry.needs):
            text = f"sandbox={name} does without {', '.join(sorted(lost))}: answers of `{entry.name}` run as this user"
            lines.append(f"{text}, on this machine")
    return lines


def _backend(plan: RunPlan) -> SandboxBackend:
    backend: SandboxBackend = resolve(plan.factories["sandbox"])(**plan.settings["sandbox"].get("options", {}))
    return backend


def waived(backend: SandboxBackend) -> frozenset[str]:
    """Return what a backend may be named without: its user knows that it isolates nothing."""
    return frozenset(getattr(backend, "waived", ()))


async def _prepare(backend: SandboxBackend, images: list[str]) -> None:
    for image in images:
        try:
            await backend.prepare(image)
        except SandboxError as error:
            raise SandboxError(
                f"the sandbox `{backend.name}` must have every image before anything is started",
                got=str(error),
                at=f"image {image}",
                todo="Start it, or pull or build the image; `assay doctor` says what answers",
            ) from error
    await backend.reap()
