"""An Assay launcher: a run that gives way to everything else on the machine.

The same processes, started and supervised by the local launcher, with two programs of the system in front.
"""

import shutil
from collections.abc import Sequence

import msgspec

import assay
from assay.core.error import ConfigError
from assay.core.launcher import Launch, Launcher
from assay.core.leaf import Factory


def polite(launch: Launch, *, niceness: int = 10, cores: str = "", roles: Sequence[str] = ()) -> Launcher:
    """Return a launcher that starts processes with `nice`, and with `taskset` where cores are named.

    Args:
        launch: What to start.
        niceness: From 0 to 19; the higher, the more the run gives way.
        cores: Such as `0-3,7`; empty for all.
        roles: Only processes of these roles; empty for all. A coordinator that gives way holds up everybody.

    Raises:
        ConfigError: a niceness that is none, or a program that is not installed.
    """
    from assay.runtime.launch.local import LocalLauncher

    if not 0 <= niceness <= 19:
        raise ConfigError("niceness must lie in 0..19", got=niceness, at="launcher.niceness")
    prefix = [_program("nice"), "-n", str(niceness)] if niceness else []
    if cores:
        prefix += [_program("taskset"), "--cpu-list", cores]
    processes = tuple(
        msgspec.structs.replace(one, argv=(*prefix, *one.argv)) if not roles or one.role in roles else one
        for one in launch.processes
    )
    return LocalLauncher(msgspec.structs.replace(launch, processes=processes))


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise ConfigError(f"the launcher `polite` must find `{name}`", todo="Install coreutils and util-linux")
    return path


POLITE = Factory("polite", polite, "This machine, behind everything else that runs on it.")


@assay.hookimpl
def assay_launchers() -> Sequence[Factory]:
    """Offer `polite`."""
    return (POLITE,)


@assay.hookimpl
def assay_config_dirs() -> Sequence[str]:
    """Offer `conf/launcher/polite.yaml`."""
    return ("assay_example_launcher/conf",)
