"""What is installed: Python, packages by extra, plugins. Read from metadata; nothing heavy is imported."""

import importlib.metadata
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from assay.core.error import PluginError
from assay.core.registry import HOST, Registry
from assay.runtime.preflight.check import Check, State, pip

# Extra -> state where it is not complete. `dev` is for whoever changes Assay itself.
_EXTRAS: dict[str, State] = {"": "fail", "train": "fail", "docker": "warn", "judge": "warn"}
_LEAST_PYTHON = (3, 11)

Version = Callable[[str], str]


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> Check:
    """Look at the interpreter."""
    shown = ".".join(map(str, version))
    if version < _LEAST_PYTHON:
        return Check(
            "python", "fail", f"must be 3.11 or newer, got {shown}", "apt-get install python3.11 python3.11-venv"
        )
    return Check("python", "ok", f"{shown}  {sys.executable}")


def check_packages(version_of: Version = importlib.metadata.version) -> Iterator[Check]:
    """Look for every requirement of Assay and of its extras, and whether its version fits."""
    from packaging.requirements import Requirement

    wanted = [Requirement(line) for line in importlib.metadata.requires(HOST) or ()]
    for extra, state in _EXTRAS.items():
        found, wrong = [], []
        for requirement in wanted:
            marker = requirement.marker
            if extra and (marker is None or "extra" not in str(marker)):
                continue
            if marker is not None and not marker.evaluate({"extra": extra}):
                continue
            try:
                version = version_of(requirement.name)
            except importlib.metadata.PackageNotFoundError:
                wrong.append(f"no {requirement.name}")
                continue
            if requirement.specifier.contains(version, prereleases=True):
                found.append(f"{requirement.name} {version}")
            else:
                wrong.append(f"{requirement.name} must satisfy {requirement.specifier}, got {version}")
        name = f"extra {extra}" if extra else "packages"
        if wrong:
            yield Check(name, state, ", ".join(wrong), pip("install", *source_of(HOST, extra)))
        else:
            yield Check(name, "ok", ", ".join(found))


def check_torch(has_gpu: bool | None = None, version_of: Version = importlib.metadata.version) -> Check:
    """Say what PyTorch computes on; its wheel's name says what it was built for."""
    try:
        version = version_of("torch")
    except importlib.metadata.PackageNotFoundError:
        return Check("torch", "fail", "not installed", pip("install", *source_of(HOST, "train")))
    if has_gpu is None:
        has_gpu = Path("/proc/driver/nvidia/version").exists()
    is_cpu = version.endswith("+cpu")
    if has_gpu and is_cpu:
        found = f"{version} computes on the CPU, and this machine has an NVIDIA GPU"
        return Check("torch", "warn", found, pip("install", "--force-reinstall", "--no-deps", f"torch=={version[:-4]}"))
    device = "an NVIDIA GPU" if has_gpu else "the CPU"
    return Check("torch", "ok", f"{version}, computes on {device}")


def check_plugins(registry: Registry) -> Iterator[Check]:
    """Look at every package that speaks to Assay: what failed to load, what is offered twice."""
    for failure in registry.failures:
        found = f"{failure.version}: {failure.what} must load, got {failure.reason}"
        yield Check(f"plugin {failure.dist}", "fail", found, pip("install", "--upgrade", *source_of(failure.dist)))
    for clash in registry.clashes():
        owners = " and ".join(f"{offer.dist} {offer.version}" for offer in clash)
        fix = pip("uninstall", clash[-1].dist)
        yield Check(f"{clash[0].kind} {clash[0].name}", "fail", f"must be offered once, got {owners}", fix)
    failed = {failure.dist for failure in registry.failures}
    sound = [f"{dist} {version}" for dist, version in registry.plugins.items() if dist not in failed]
    yield Check("plugins", "ok", ", ".join(sound))


def check_sandboxes(registry: Registry) -> Check:
    """Look for a backend whose boxes isolate."""
    isolating: list[str] = []
    others: list[str] = []
    for name in registry.names("sandbox"):
        try:
            declared = registry.find("sandbox", name).value.capabilities()
        except PluginError:  # offered twice: said with the plugins
            continue
        (isolating if "isolation.fresh" in declared else others).append(name)
    if isolating:
        return Check("sandboxes", "ok", ", ".join(sorted([*isolating, *others])))
    found = f"none that isolates, got {', '.join(others) or 'none'}: domains that need a sandbox are refused"
    return Check("sandboxes", "warn", found, pip("install", *source_of("assay-sandbox-docker")))


def source_of(dist: str, extra: str = "") -> list[str]:
    """Return the words after `pip install` that give a distribution from where it came: an index, a URL or a folder.

    What is not installed comes from Assay's own checkout, where this one runs from a checkout that holds it.
    """
    suffix = f"[{extra}]" if extra else ""
    origin = _origin(dist)
    if origin is None:
        checkout = _origin(HOST) if dist != HOST else None
        near = _folder(checkout) / "plugins" / dist.removeprefix("assay-") if checkout is not None else Path()
        if (near / "pyproject.toml").is_file() and not _is_installed(dist):
            return ["--editable", f"{near}{suffix}"]
        return [f"{dist}{suffix}"]
    if urlparse(origin["url"]).scheme != "file":
        return [f"{dist}{suffix} @ {origin['url']}"]
    is_editable = origin.get("dir_info", {}).get("editable", False)
    return [*(["--editable"] if is_editable else []), f"{_folder(origin)}{suffix}"]


def _origin(dist: str) -> dict[str, Any] | None:
    """Return what pip wrote down of where a distribution came from; None for an index, or for what is not here."""
    try:
        text = importlib.metadata.distribution(dist).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    return None if text is None else json.loads(text)


def _folder(origin: dict[str, Any]) -> Path:
    return Path(unquote(urlparse(origin["url"]).path))


def _is_installed(dist: str) -> bool:
    return any(found.name == dist for found in importlib.metadata.distributions(name=dist))
