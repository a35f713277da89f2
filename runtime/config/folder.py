"""Where configuration files lie: `conf/` of Assay, then the folders that packages name with `assay_config_dirs`."""

from pathlib import Path

import msgspec

from assay.core.declare import package_folder
from assay.core.error import PluginError
from assay.core.registry import Registry


class Folder(msgspec.Struct, frozen=True):
    """One folder with a subfolder per group.

    Attributes:
        path: Absolute.
        owner: Distribution that brings it.
    """

    path: Path
    owner: str


def folders(registry: Registry) -> list[Folder]:
    """Return all folders, Assay's own first; the first that has a file of a name wins, as with Hydra.

    Raises:
        PluginError: a package names a folder that it does not have.
    """
    found = [Folder((package_folder("assay") / "conf").resolve(), "assay-rl")]
    for offer in registry.of_kind("config_dir"):
        package, _, inside = offer.name.partition("/")
        path = package_folder(package) / inside
        if not path.is_dir():
            raise PluginError(
                "a folder of config groups must exist", got=offer.name, at=f"{offer.dist} {offer.version}"
            )
        found.append(Folder(path, offer.dist))
    return found


def options(group: str, places: list[Folder]) -> list[str]:
    """Return the names of a group's files, sorted."""
    return sorted({path.stem for place in places for path in (place.path / group).glob("*.yaml")})


def find(group: str, choice: str, places: list[Folder]) -> Path | None:
    """Return the file of a choice; None where there is none."""
    for place in places:
        path = place.path / group / f"{choice}.yaml"
        if path.is_file():
            return path
    return None


def is_path(choice: str) -> bool:
    """Whether a choice is a path to a file, not the name of one."""
    return "/" in choice or choice.endswith((".yaml", ".yml"))
