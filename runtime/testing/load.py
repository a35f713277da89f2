"""What declaring a package costs, measured in an interpreter that has loaded nothing else."""

import json
import os
import subprocess
import sys
from functools import cache

import msgspec

# Libraries that take long to load or hold much memory: they belong into the function that uses them.
HEAVY = frozenset({
    "aiohttp", "anthropic", "boto3", "datasets", "docker", "duckdb", "fastapi", "flax", "httpx", "hydra", "jax",
    "matplotlib", "megatron", "mlflow", "nltk", "numba", "numpy", "omegaconf", "openai", "pandas", "PIL", "polars",
    "pyarrow", "ray", "reasoning_gym", "requests", "scipy", "sglang", "skimage", "sklearn", "spacy", "sqlalchemy",
    "sympy", "tensorflow", "tokenizers", "torch", "torchvision", "transformers", "vllm", "wandb", "zmq",
})  # fmt: skip
_PROGRAM = """
import json, sys, time
import importlib.metadata
from assay.core.registry import Registry
before, began = set(sys.modules), time.process_time()
registry = Registry()
dist = importlib.metadata.distribution(sys.argv[1])
for entry in dist.entry_points.select(group="assay"):
    registry.add(entry.load(), dist.name, dist.version)
spent = time.process_time() - began
tops = sorted({name.partition(".")[0] for name in set(sys.modules) - before})
failures = [f"{one.what}: {one.reason}" for one in registry.failures]
print(json.dumps({"cpu_s": spent, "modules": tops, "failures": failures}))
"""
_LONGEST_S = 120.0


class Loaded(msgspec.Struct, frozen=True):
    """What came of it.

    Attributes:
        cpu_s: Seconds of processor time.
        modules: Names of the packages that were loaded.
        error: One line where it did not load; empty where it did.
    """

    cpu_s: float = 0.0
    modules: frozenset[str] = frozenset()
    error: str = ""


@cache
def load_afresh(dist: str) -> Loaded:
    """Import the entry points of a distribution and call its hooks, in an interpreter that sees what this one sees."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    argv = [sys.executable, "-c", _PROGRAM, dist]
    try:
        ran = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=_LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        return Loaded(error=f"no end after {_LONGEST_S:g} s")
    if ran.returncode != 0:
        return Loaded(error=(ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1])
    # A package may print while it is imported; the last line is ours.
    found = json.loads(ran.stdout.splitlines()[-1])
    if found["failures"]:
        return Loaded(error="; ".join(found["failures"]))
    return Loaded(found["cpu_s"], frozenset(found["modules"]))
