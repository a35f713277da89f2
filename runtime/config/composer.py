"""Hydra, at the one place where Assay uses it: choosing files and merging settings.

Two nodes of the composed configuration are open, where all others are closed to unknown keys: `domain` (`root_open`,
first in the defaults) and `curriculum`. Hydra sees overrides of both as quoted text and keeps them as such; what they
mean is decided on the marked trees. The curriculum's file is never read by Hydra: the config source below stands for
it, so that a broken file is a finding, and a path to a file is a choice like any other.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from assay.core.error import ConfigError

_ROOT = "config"
# What the classes below, which Hydra makes itself, have to know of the composition at hand.
_folders: list[Path] = []
_curriculum: list[str] = [""]
_classes: list[type] = []


class HydraConfig(msgspec.Struct, frozen=True):
    """What Hydra made of files and overrides.

    Attributes:
        job: The configuration without Hydra's own node; interpolations resolved.
        hydra: Hydra's own node.
        missing: Keys that still say `???`.
    """

    job: dict[str, Any]
    hydra: dict[str, Any]
    missing: tuple[str, ...]


class Composer:
    """One initialised Hydra; made by `hydra`."""

    def compose(self, overrides: Sequence[str]) -> HydraConfig:
        """Return what files and overrides give.

        Raises:
            ConfigError: Hydra refuses; `must` is its reason in one line.
        """
        from hydra import compose
        from hydra.errors import HydraException
        from omegaconf import OmegaConf, open_dict
        from omegaconf.errors import OmegaConfBaseException

        try:
            config = compose(_ROOT, overrides=list(overrides), return_hydra_config=True)
            with open_dict(config):
                hydra_node = config.pop("hydra")
            job: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=False)
            own: Any = OmegaConf.to_container(hydra_node, resolve=False)
            missing = tuple(sorted(OmegaConf.missing_keys(config)))
        except (HydraException, OmegaConfBaseException) as error:
            cause = error.__cause__ if not str(error).strip() and error.__cause__ else error
            reason = (str(cause).strip() or type(cause).__name__).splitlines()[0]
            raise ConfigError(reason) from error
        return HydraConfig(job, own, missing)


@contextmanager
def hydra(folders: Sequence[Path], curriculum: str) -> Iterator[Composer]:
    """Initialise Hydra over config folders.

    Args:
        folders: Assay's own first; each has a subfolder per group.
        curriculum: Name under which the chosen curriculum is known.
    """
    from hydra import initialize_config_dir
    from hydra.core.config_store import ConfigStore
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    _register()
    # A plain `domain: {}` in a file would be closed, and refuse every plain override below it.
    is_open = OmegaConf.create({}, flags={"struct": False})
    ConfigStore.instance().store(name="root_open", node=OmegaConf.create({"domain": is_open}))
    _folders[:], _curriculum[0] = folders[1:], curriculum
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(folders[0]), job_name="assay", version_base="1.3"):
        yield Composer()


def _register() -> None:
    """Tell Hydra, once per process, of plugins' folders and of the source of curricula."""
    if _classes:
        return
    from hydra.core.config_search_path import ConfigSearchPath
    from hydra.core.object_type import ObjectType
    from hydra.core.plugins import Plugins
    from hydra.plugins.config_source import ConfigResult, ConfigSource
    from hydra.plugins.search_path_plugin import SearchPathPlugin
    from omegaconf import OmegaConf

    class AssaySearchPath(SearchPathPlugin):
        def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
            search_path.prepend("assay", "assay://curriculum")
            for folder in _folders:
                search_path.append("assay", f"file://{folder}")

    class CurriculumSource(ConfigSource):
        @staticmethod
        def scheme() -> str:
            return "assay"

        def available(self) -> bool:
            return True

        def is_group(self, config_path: str) -> bool:
            return config_path in ("", "curriculum")

        def is_config(self, config_path: str) -> bool:
            return config_path.removesuffix(".yaml") == f"curriculum/{_curriculum[0]}"

        def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
            return [_curriculum[0]] if config_path == "curriculum" and results_filter != ObjectType.GROUP else []

        def load_config(self, config_path: str) -> ConfigResult:
            node = OmegaConf.create({}, flags={"struct": False})
            return ConfigResult(self.provider, self.full_path(), node, {"package": "curriculum"})

    for plugin in (AssaySearchPath, CurriculumSource):
        Plugins.instance().register(plugin)
        _classes.append(plugin)
