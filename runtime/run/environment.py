"""The environment that every process of a run is started with."""

import os
from collections.abc import Mapping

LAUNCHER_PID = "ASSAY_LAUNCHER_PID"
"""Pid of the launcher, by which a process tells whether it still lives."""

WEIGHTS_FOLDER = "ASSAY_WEIGHTS"
"""Folder of published weights, which the launcher makes and removes."""


def environment(num_threads: int, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return an environment: threads of each library, and that they block instead of spinning."""
    fixed = {
        "OMP_NUM_THREADS": str(num_threads),
        "MKL_NUM_THREADS": str(num_threads),
        "OPENBLAS_NUM_THREADS": str(num_threads),
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        LAUNCHER_PID: str(os.getpid()),
    }
    return {**base, **fixed}


def rank_environment(rank: int, world_size: int, port: int) -> dict[str, str]:
    """Return what one rank of a group on this machine needs beside; the variables that torchrun sets too."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world_size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        # Otherwise gloo resolves the host's name, which need not lead back to this machine.
        "GLOO_SOCKET_IFNAME": "lo",
    }


def threads_for(num_engines: int, wanted: int, cores: int | None = None) -> int:
    """Return threads of each engine and trainer process: as wanted, but together not more than the cores.

    Example:
        >>> threads_for(2, wanted=4, cores=4), threads_for(2, wanted=4, cores=1)
        (2, 1)
    """
    cores = cores or len(os.sched_getaffinity(0))
    return max(1, min(wanted, cores // num_engines))
