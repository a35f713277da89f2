"""How long a user waits for `assay check` of files and of curricula.

And for the plan of that mix, and for `import assay`. CPU seconds of fresh processes, median of `REPEATS`: wall time on
a shared machine says little.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

NAME = "check_latency"
REPEATS = 5

DOMAIN = """assay: 1
domain: bench.case{number}
version: 1
fields: {{question: str, expected: str}}
data:
  train:
    - {{question: "1+1", expected: "2"}}
prompt: "{{question}}"
verify:
  ans: text.equal(expected)
reward:
  outcome:
    correct: 1.0*ans.equal
  efficiency:
    when: ans.equal
    length: -0.1*budget(trace.tokens, 4096)
"""


def run() -> dict[str, float]:
    """Return seconds of CPU per command; `import_ms` beyond a bare interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number in range(100):
            path = Path(folder) / f"case{number}.yaml"
            path.write_text(DOMAIN.format(number=number))
            paths.append(str(path))
        assay = [sys.executable, "-m", "assay"]
        return {
            "file_s": _median([*assay, "check", paths[0]]),
            "composed_s": _median([*assay, "check", "curriculum=quickstart"]),
            "hundred_domains_s": _median([*assay, "check", *paths]),
            "hundred_entries_s": _median([*assay, "check", "curriculum=reasoning_gym_100"]),
            "hundred_entries_plan_s": _median([*assay, "plan", "curriculum=reasoning_gym_100"]),
            "import_ms": 1000 * (_median([sys.executable, "-c", "import assay"]) - _median([sys.executable, "-c", ""])),
        }


def _median(argv: list[str]) -> float:
    return statistics.median(_cpu_s(argv) for _ in range(REPEATS))


def _cpu_s(argv: list[str]) -> float:
    before = os.times()
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    after = os.times()
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv[:6])} must pass, got {done.returncode}: {done.stdout}{done.stderr}")
    return after.children_user + after.children_system - before.children_user - before.children_system
