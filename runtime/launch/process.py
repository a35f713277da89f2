"""From the plan of a run to its processes: roles, commands, environments, logs."""

import sys
from pathlib import Path

from assay.core.launcher import Launch, ProcessSpec
from assay.runtime.run.environment import WEIGHTS_FOLDER, environment
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import RunPlan
from assay.runtime.wire.server import socket_address

# Of a policy that is still to be made, which is small.
_LEAST_WEIGHT_BYTES = 64 << 20


def launch_of(plan: RunPlan, folder: RunFolder, weights: Path) -> Launch:
    """Return what a launcher is to start.

    Args:
        plan: Of the run; already written into the folder.
        folder: Of the run.
        weights: Folder of published versions.
    """
    counts = plan.counts
    names = [("coordinator", "coordinator")]
    for role, count in (
        ("update", counts.update),
        ("rollout", counts.rollout),
        ("source", counts.source),
        ("verify", counts.verify),
    ):
        names += [(role, f"{role}-{index}") for index in range(count)]
    environ = {**environment(counts.threads), WEIGHTS_FOLDER: str(weights)}
    processes = tuple(
        ProcessSpec(
            role,
            name,
            (sys.executable, "-m", "assay.runtime.stage", role, name, str(folder.path)),
            environ,
            folder.logs / f"{name}.log",
        )
        for role, name in names
    )
    return Launch(folder.path, socket_address(folder.path), processes)


def weight_bytes(plan: RunPlan) -> int:
    """Return about how much room published versions take: three of them, in float32."""
    files = [path.stat().st_size for path in Path(plan.policy).glob("*.safetensors")]
    return max(_LEAST_WEIGHT_BYTES, 6 * sum(files))
