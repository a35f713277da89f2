"""Run benchmarks, print and store their figures: `python -m bench [name ...]`."""

import datetime
import importlib
import json
import os
import pkgutil
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import bench

RESULTS = Path(__file__).parent / "results"


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all; returns the exit status."""
    found = {module.name: module.name for module in pkgutil.iter_modules(bench.__path__) if module.name[0] != "_"}
    unknown = [name for name in names if name not in found]
    if unknown:
        print(f"unknown benchmark {', '.join(unknown)}; known: {', '.join(found)}", file=sys.stderr)
        return 2
    for name in names or found:
        record = {"name": name, "figures": _rounded(importlib.import_module(f"bench.{name}").run()), **_where()}
        print(json.dumps(record), flush=True)
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    return 0


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.4g}") for name, value in figures.items()}


def _where() -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "commit": commit.stdout.strip(),
        "date": datetime.date.today().isoformat(),
        "machine": {
            "cores": len(os.sched_getaffinity(0)),
            "cpu": _cpu(),
            "python": platform.python_version(),
            "load": round(os.getloadavg()[0], 1),
        },
    }


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
