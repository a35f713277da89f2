"""The weights a run starts from: a folder that exists, or one that the trainer makes from the plan.

Whoever loads torch anyway makes it; the others wait for it. A folder that exists is whole, because it is renamed into
its place.
"""

import os
import shutil
import time
from pathlib import Path

import msgspec

from assay.core.error import ConfigError
from assay.runtime.run.plan import RunPlan

# Until the trainer has imported torch, on a machine that does much else.
PATIENCE_S = 180.0
_LOOK_S = 0.05


def make_policy(plan: RunPlan) -> Path:
    """Make the plan's policy where it is to be made, and return its folder.

    Raises:
        ConfigError: sizes or tokens that cannot be meant.
        OSError: the folder cannot be written.
    """
    folder = Path(plan.policy)
    settings = plan.settings["policy"]
    if settings["path"] is not None or folder.exists():
        return folder
    from assay.runtime.policy.initialization import PolicySpec, initialize

    known = {field.name for field in msgspec.structs.fields(PolicySpec)}
    given = {name: value for name, value in settings.items() if name in known and value is not None}
    draft = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(draft, ignore_errors=True)
    initialize(draft, msgspec.convert({**given, "seed": plan.seed}, PolicySpec))
    draft.rename(folder)
    return folder


def wait_for_policy(plan: RunPlan, patience_s: float = PATIENCE_S) -> Path:
    """Return the folder of the plan's policy once it is there.

    Raises:
        ConfigError: nobody made it in time.
    """
    folder = Path(plan.policy)
    deadline = time.monotonic() + patience_s
    while not (folder / "config.json").exists():
        if time.monotonic() > deadline:
            raise ConfigError(f"a policy must be there within {patience_s:g} s", at=folder)
        time.sleep(_LOOK_S)
    return folder
